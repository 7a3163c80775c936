//! General English words, the most frequent first, roughly as in scientific prose.

/// The words, separated by spaces.
pub(crate) const WORDS: &str = "\
    the of and in to a is that for with was as are by on be this were from which or at an we have not has \
    these it can between been also their more other two may than its after using both all such but used had \
    study results data during one analysis no when however time only there they each different into observed \
    most our significant high number effect three first due model found total increased would where levels \
    based well within higher who show studies method low group groups case cases some could shown including \
    same previous compared changes associated effects large small rate value values new table age while long \
    further being identified over will any several under level per described performed many present given \
    specific following factors response development similar important control work possible does methods \
    even about area average range population years individual among example those therefore order sample \
    samples size test tests process system systems type types without then very less single second four \
    addition because positive negative early late lower major main common known according reported obtained \
    current often still part parts made against set research report general related conditions condition \
    information presence use self point points form forms until out five six seven week weeks month months \
    year day days hour hours minute across before though although thus up down whether either neither \
    through since so if should must might what how why them he she his her him you your me my us itself \
    themselves particular various certain whole full complete partial clear likely possibly mainly mostly \
    nearly almost quite rather moreover furthermore respectively significantly strongly directly recently \
    previously finally generally typically usually initially approximately evidence hypothesis theory basis \
    role function functions structure structures mechanism mechanisms activity pattern patterns difference \
    differences relationship relation correlation distribution frequency concentration density volume weight \
    length width height depth distance surface layer region regions site sites position direction movement \
    force pressure temperature energy light water air soil plant plants animal animals species human family \
    families child children women men woman man people person community society country countries city world \
    nature environment culture history education school training practice practices policy program programs \
    project projects plan plans strategy strategies management service services quality quantity cost costs \
    risk risks benefit benefits problem problems question questions answer answers solution decision \
    decisions choice option options issue issues need needs demand supply market product products production \
    company industry technology tool tools device devices machine design material materials resource \
    resources source sources network networks computer software database image images figure figures picture \
    sound voice language word words text sentence paper article book review literature author authors reader \
    editor page section chapter reference references note notes list item items record records document \
    documents file files measure measures measurement measurements instrument scale score scores index ratio \
    percent percentage proportion mean median variance deviation error errors probability regression \
    parameter parameters variable variables equation formula algorithm simulation experiment experiments \
    experimental laboratory equipment procedure procedures protocol technique techniques approach approaches \
    application applications implementation evaluation assessment comparison examination investigation \
    observation observations interpretation discussion conclusion conclusions summary introduction \
    background objective objectives aim aims purpose goal goals target targets task tasks step steps stage \
    stages phase phases period periods interval cycle cycles sequence sequences series event events outcome \
    outcomes success failure loss gain growth decline increase decrease reduction improvement progress \
    change transition variation diversity similarity uniform stable unstable dynamic static active passive \
    open closed free fixed moving rapid slow fast sudden gradual constant strong weak hard soft deep shallow \
    wide narrow thick thin heavy short tall old young rich poor good bad better best worse worst great \
    greater greatest little fewer least enough sufficient necessary essential useful available impossible \
    difficult easy simple complex basic advanced modern traditional local national international global \
    regional rural urban public private social political economic financial legal medical clinical physical \
    mental chemical biological genetic natural artificial normal abnormal typical standard special extra \
    additional final initial primary secondary internal external upper inner outer front back left right \
    middle center top bottom north south east west include includes included consider considered considering \
    define defined determine determined develop developed produce produced provide provided provides require \
    required requires receive received remain remained remains reduce reduced represent represented suggest \
    suggested suggests support supported indicate indicated indicates involve involved allow allowed apply \
    applied assess assessed calculate calculated collect collected compare conduct conducted confirm \
    confirmed contain contained contains contribute contributed create created demonstrate demonstrated \
    depend depends derive derived detect detected estimate estimated examine examined exist exists expect \
    expected explain explained express expressed follow followed generate generated improve improved \
    increases influence influenced investigate investigated lead led leads limit limited maintain maintained \
    measured needed noted occur occurred occurs offer offered perform place placed predict predicted prevent \
    prevented promote promoted propose proposed recorded recognize recognized refer referred reflect \
    reflected relate release released rely remove removed replace replaced reveal revealed select selected \
    separate separated serve served share shared start started stop stopped tested treat treated understand \
    understood vary varied visit visited write written read";

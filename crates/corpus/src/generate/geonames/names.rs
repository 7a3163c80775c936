//! Names of places in thirteen styles, and the kinds of places.

/// The kind of feature that a name belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FeatureKind {
    Settlement,
    Water,
    Height,
    Building,
    Land,
}

/// A kind of place, with the class and code that the corpus uses.
pub(super) struct Feature {
    pub(super) class: u8,
    pub(super) code: &'static str,
    pub(super) weight: u64,
    pub(super) kind: FeatureKind,
}

/// The style of place names in a group of languages. A name is a stem and a word for the kind of place; that of a
/// settlement may also be a stem and a suffix. Lists are comma-separated.
pub(super) struct Style {
    stems: &'static str,
    /// Sometimes inserted between the stem and the suffix.
    middles: &'static str,
    tails: &'static str,
    attributes: &'static str,
    /// Words for each [`FeatureKind`].
    words: [&'static str; 5],
    word_first: bool,
}

/// A style with its lists split.
pub(super) struct Language {
    pub(super) stems: Vec<&'static str>,
    pub(super) middles: Vec<&'static str>,
    pub(super) tails: Vec<&'static str>,
    pub(super) attributes: Vec<&'static str>,
    pub(super) words: [Vec<&'static str>; 5],
    pub(super) word_first: bool,
}

impl Style {
    pub(super) fn language(&self) -> Language {
        let list = |text: &'static str| {
            if text.is_empty() { Vec::new() } else { text.split(',').collect() }
        };
        Language {
            stems: list(self.stems),
            middles: list(self.middles),
            tails: list(self.tails),
            attributes: list(self.attributes),
            words: self.words.map(|text| text.split(',').collect()),
            word_first: self.word_first,
        }
    }
}

/// Names that are common worldwide. The track searches for all of them.
pub(super) const COMMON: [&str; 48] = [
    "San Juan",
    "San Francisco",
    "San Antonio",
    "San Jose",
    "Santa Rosa",
    "San Pedro",
    "La Esperanza",
    "El Porvenir",
    "Spring Creek",
    "San Vicente",
    "San Rafael",
    "Mill Creek",
    "Haugen",
    "Bear Creek",
    "Santa Maria",
    "San Isidro",
    "Quebrada Seca",
    "El Rincon",
    "Cedar Creek",
    "Beaver Creek",
    "Wolf Creek",
    "Silver Creek",
    "Santa Ana",
    "Rancho Viejo",
    "Rampur",
    "Mud Lake",
    "Indian Creek",
    "Dry Creek",
    "Deer Creek",
    "Cerro Alto",
    "Cerro Blanco",
    "Cerro Negro",
    "Agua Zarca",
    "Solheim",
    "Nyberget",
    "Dongtan",
    "Alampur",
    "Cedar Grove",
    "Rose Lake",
    "Snow Creek",
    "North Park",
    "La Puerta",
    "Bethel Cemetery",
    "Fairview Cemetery",
    "Shiloh Church",
    "Washington School",
    "Alder Creek",
    "Bald Hill",
];

/// Prefixes of alternate names.
pub(super) const SYNONYMS: [&str; 16] = [
    "Old",
    "New",
    "Great",
    "Upper",
    "Lower",
    "North",
    "South",
    "Mount",
    "Lake",
    "River",
    "Cape",
    "Port",
    "Fort",
    "City of",
    "Village of",
    "Town of",
];

/// Index in `FEATURES` of mountains, and of regions.
pub(super) const MOUNTAIN: usize = 10;
pub(super) const REGION: usize = 28;

pub(super) const FEATURES: [Feature; 32] = [
    Feature { class: b'P', code: "PPL", weight: 330, kind: FeatureKind::Settlement },
    Feature { class: b'P', code: "PPLX", weight: 20, kind: FeatureKind::Settlement },
    Feature { class: b'P', code: "PPLL", weight: 14, kind: FeatureKind::Settlement },
    Feature { class: b'H', code: "STM", weight: 75, kind: FeatureKind::Water },
    Feature { class: b'H', code: "STMI", weight: 20, kind: FeatureKind::Water },
    Feature { class: b'H', code: "LK", weight: 25, kind: FeatureKind::Water },
    Feature { class: b'H', code: "SPNG", weight: 12, kind: FeatureKind::Water },
    Feature { class: b'H', code: "RSV", weight: 6, kind: FeatureKind::Water },
    Feature { class: b'H', code: "BAY", weight: 8, kind: FeatureKind::Water },
    Feature { class: b'T', code: "HLL", weight: 38, kind: FeatureKind::Height },
    Feature { class: b'T', code: "MT", weight: 55, kind: FeatureKind::Height },
    Feature { class: b'T', code: "RDGE", weight: 10, kind: FeatureKind::Height },
    Feature { class: b'T', code: "VAL", weight: 12, kind: FeatureKind::Height },
    Feature { class: b'T', code: "ISL", weight: 16, kind: FeatureKind::Height },
    Feature { class: b'T', code: "PK", weight: 8, kind: FeatureKind::Height },
    Feature { class: b'T', code: "CAPE", weight: 6, kind: FeatureKind::Height },
    Feature { class: b'S', code: "SCH", weight: 40, kind: FeatureKind::Building },
    Feature { class: b'S', code: "CH", weight: 30, kind: FeatureKind::Building },
    Feature { class: b'S', code: "FRM", weight: 42, kind: FeatureKind::Building },
    Feature { class: b'S', code: "CMTY", weight: 14, kind: FeatureKind::Building },
    Feature { class: b'S', code: "HTL", weight: 20, kind: FeatureKind::Building },
    Feature { class: b'S', code: "BLDG", weight: 14, kind: FeatureKind::Building },
    Feature { class: b'S', code: "PO", weight: 6, kind: FeatureKind::Building },
    Feature { class: b'L', code: "LCTY", weight: 24, kind: FeatureKind::Land },
    Feature { class: b'L', code: "PRK", weight: 10, kind: FeatureKind::Land },
    Feature { class: b'L', code: "AREA", weight: 6, kind: FeatureKind::Land },
    Feature { class: b'A', code: "ADM3", weight: 10, kind: FeatureKind::Land },
    Feature { class: b'A', code: "ADM4", weight: 24, kind: FeatureKind::Land },
    Feature { class: b'A', code: "ADMD", weight: 10, kind: FeatureKind::Land },
    Feature { class: b'V', code: "FRST", weight: 5, kind: FeatureKind::Land },
    Feature { class: b'R', code: "RD", weight: 3, kind: FeatureKind::Settlement },
    Feature { class: b'U', code: "BNKU", weight: 2, kind: FeatureKind::Water },
];

pub(super) const STYLES: [Style; 13] = [
    // English.
    Style {
        stems: "Alder,Anderson,Antelope,Ash,Austin,Bald,Bear,Beaver,Bethel,Big,Birch,Black,Blue,Brown,Buck,\
            Burnt,Cameron,Campbell,Cave,Cedar,Cherry,Clark,Clear,Cottonwood,Coyote,Crooked,Crystal,\
            Dalton,Davis,Deer,Dixon,Dry,Duck,Eagle,East,Eden,Elk,Elm,Evans,Fairview,Fish,Foster,Fox,\
            Franklin,Goose,Gordon,Grant,Grassy,Green,Greenwood,Hall,Hamilton,Harmony,Hickory,Hillcrest,\
            Holly,Horse,Howard,Indian,Iron,Jackson,Jenkins,Johnson,Jones,Kelly,King,Laurel,Lincoln,\
            Little,Long,Lost,Macdonald,Maple,Martin,Mill,Miller,Mitchell,Moose,Mount Pleasant,Mud,\
            Nelson,New,North,Oak,Otter,Owl,Palmer,Parker,Pigeon,Pine,Pleasant,Poplar,Prospect,\
            Rattlesnake,Red,Roberts,Rock,Rocky,Rogers,Roosevelt,Rose,Russell,Saint Paul,Salem,Salt,Sand,\
            Sandy,Scott,Shiloh,Silver,Smith,Snake,Snow,South,Spring,Spruce,Star,Stephens,Stone,Stony,\
            Sugar,Swan,Taylor,Thompson,Timber,Trout,Turkey,Turner,Union,Walker,Walnut,Washington,Watson,\
            West,White,Williams,Willow,Wilson,Wolf,Woods,Yellow,Zion",
        middles: "",
        tails: "ton,ville,field,ford,wood,dale,burg,ham,ley,brook",
        attributes: "Upper,Lower,Old,Little,North,South",
        words: [
            " Grove, Heights, City, Springs, Corner, Mill, Point, Park",
            " Creek, Lake, River, Branch, Pond, Spring, Brook, Run",
            " Hill, Mountain, Ridge, Peak, Butte, Hollow, Canyon, Island",
            " School, Church, Cemetery, Baptist Church, Elementary School, School (historical), Hospital, Farm, Hotel, Post Office (historical)",
            " Township, Park, County Park, Estates, Flat, Recreation Site",
        ],
        word_first: false,
    },
    // Spanish.
    Style {
        stems: "Agua,Aguada,Alamo,Alta,Ángel,Animas,Barro,Blanca,Blanco,Bravo,Caballo,Cabra,Campo,Cañada,\
            Carmen,Carrizal,Cedro,Ceiba,Chico,Ciénega,Colorado,Cóndor,Corona,Coyote,Cruz,Esperanza,\
            Estrella,Flores,Fortuna,Frío,Gloria,Grande,Guadalupe,Hondo,Huerta,Isidro,Joya,Laguna,Lajas,\
            León,Limón,Llano,Loma,Luna,Mesa,Mirador,Molino,Monte,Morro,Negro,Nuevo,Ojo,Palma,Palmar,\
            Paraíso,Paso,Peña,Piedra,Pinar,Plan,Porvenir,Potrero,Pozo,Prado,Puente,Real,Redonda,Rincón,\
            Rosario,Sabana,Salada,Salto,Sauce,Seco,Sierra,Sol,Tigre,Toro,Tuna,Unión,Valle,Vega,Verde,\
            Víbora,Viejo,Vista,Zorro",
        middles: "",
        tails: "",
        attributes: "Alto,Grande,Chico,Viejo,del Norte,del Sur,Segundo,de Arriba,de Abajo",
        words: [
            "San ,Santa ,El ,La ,Los ,Las ,Villa ,Colonia ,Pueblo ",
            "Arroyo ,Quebrada ,Río ,Laguna ,Arroyo El ,Quebrada La ",
            "Cerro ,Loma ,Sierra ,Cerro El ,Lomas de ,Pico ",
            "Hacienda ,Rancho ,Escuela ,Estancia ,Rancho El ,Hotel ",
            "Cañada ,Llano ,Municipio de ,Departamento de ,Ejido ",
        ],
        word_first: true,
    },
    // Portuguese.
    Style {
        stems: "Água,Alegre,Alto,Areia,Barra,Bela Vista,Boa Esperança,Boa Vista,Bonito,Branca,Cachoeira,\
            Campo,Capão,Casa,Coelho,Cruz,Engenho,Formosa,Fundo,Grande,Jacaré,Jatobá,Lagoa,Limeira,\
            Macaco,Mangueira,Mato,Monte,Morro,Olho,Onça,Ouro,Palmeira,Pau,Pedra,Pitombas,Poço,Ponte,\
            Porto,Rosário,Saco,São Bento,São João,São José,Santana,Serra,Sítio,Tamanduá,Tanque,\
            Umbuzeiro,Várzea,Veado,Verde,Vitória",
        middles: "",
        tails: "",
        attributes: "de Baixo,de Cima,Grande,Novo,Velho,do Meio",
        words: [
            ",Vila ,Povoado ,Fazenda ",
            "Riacho ,Ribeirão ,Córrego ,Rio ,Lagoa do ,Igarapé ",
            "Serra ,Morro ,Serra do ,Pico ",
            "Fazenda ,Sítio ,Escola ,Fazenda São ",
            "Município de ,Mata ,Chapada ",
        ],
        word_first: true,
    },
    // German.
    Style {
        stems: "Alt,Aschen,Bach,Berg,Birken,Brunn,Buchen,Burg,Dorn,Eber,Eich,Eisen,Erlen,Fichten,Fischer,\
            Forst,Frauen,Gersten,Gold,Gross,Grün,Hain,Hasel,Heiligen,Hirsch,Hoch,Hof,Holz,Hunds,Kalten,\
            Kirch,Klein,Kloster,Königs,Langen,Linden,Markers,Mauer,Mittel,Mühl,Neu,Nieder,Nuss,Ober,\
            Pfaffen,Reichen,Rosen,Roten,Sand,Schloss,Schön,Schwarzen,Silber,Sommer,Stein,Tannen,Teufels,\
            Unter,Vogel,Wald,Weiden,Weissen,Wiesen,Winter,Wolfs,Ziegel",
        middles: "en,er,bach,wald",
        tails: "dorf,bach,berg,heim,hausen,au,feld,reuth,ing,stein,furt,kirchen,hofen,brunn",
        attributes: "Sankt,Bad,Hinterer,Vorderer",
        words: [
            "dorf,hof",
            "bach,see,graben,ache",
            "berg,kogel,spitze,horn,kopf,alm,eck",
            "mühle,hof,schloss,hütte,kapelle",
            "wald,forst,moos,au",
        ],
        word_first: false,
    },
    // Nordic.
    Style {
        stems: "Ås,Aust,Berg,Bjørn,Bratt,Brei,Dal,Djup,Eid,Elv,Fager,Finn,Fiske,Fjell,Gammel,Granse,Grøn,\
            Gul,Hav,Hauge,Helle,Hest,Holm,Høg,Hvit,Inner,Kald,Kirke,Kjerring,Kors,Kvit,Lang,Lille,Lomme,\
            Lund,Lyng,Mo,Myr,Nord,Ny,Nysted,Ost,Raud,Rev,Rød,Rund,Salt,Sand,Selje,Sjø,Skog,Skute,Små,\
            Sol,Sør,Stein,Stor,Svart,Sæter,Trang,Tverr,Ulv,Vass,Vest,Ytter,Øver",
        middles: "e,ar,en,skog",
        tails: "heim,berget,haugen,vika,sund,stad,bo,by,torp,nes,dal,land,set,moen",
        attributes: "Nedre,Øvre,Store,Vesle",
        words: [
            "by,gard",
            "vatnet,bekken,elva,sjøen,tjern,åa,träsk",
            "berget,haugen,fjellet,kollen,toppen,holmen,skjeret,nuten",
            "sætra,gården,kirke,stugan",
            "myra,skogen,heia,stranda,vika",
        ],
        word_first: false,
    },
    // East Asian.
    Style {
        stems: "Bai,Ban,Cao,Chen,Cheng,Da,Dong,Fang,Feng,Fu,Gao,Guan,Hai,He,Hong,Hou,Hu,Hua,Huang,Ji,Jiang,\
            Jin,Lai,Li,Lin,Liu,Long,Lu,Luo,Ma,Mei,Nan,Ping,Qi,Qian,Qing,San,Shang,Shi,Shui,Song,Sun,\
            Tang,Tian,Tu,Wan,Wang,Wei,Wu,Xi,Xia,Xiao,Xin,Xing,Xu,Yan,Yang,Yu,Yuan,Zhang,Zhao,Zheng,\
            Zhong,Zhou,Zhu",
        middles: "an,bao,dian,he,jia,jian,lin,men,ping,qiao,shan,shi,shui,xi,yang,yuan,zhong",
        tails: "cun,zhuang,jia,wan,ping,gou,tun,he,ling,qiao,dian,zhen,xiang,li,tang,keng,zhuangzi,jiawan",
        attributes: "",
        words: [
            "cun,zhen",
            " He, Hu,xi, Shuiku,gang",
            " Shan, Ling, Feng,dao,jiao",
            "si, Xuexiao,miao,chang",
            " Xiang, Zhen, Qu,cun",
        ],
        word_first: false,
    },
    // Malay.
    Style {
        stems: "Alur,Anyar,Atas,Bangun,Banyu,Baru,Batu,Bawah,Besar,Bukit,Bulu,Cempaka,Cikarang,Dalam,Gede,\
            Gunung,Hulu,Jati,Jaya,Kali,Karang,Kayu,Kebon,Kidul,Kilir,Kota,Kulon,Lor,Luhur,Manggis,Mekar,\
            Melati,Mulya,Nangka,Pasir,Pinang,Pulo,Rawa,Rejo,Sari,Sawah,Sekar,Sido,Suka,Sumber,Tanah,\
            Tanjung,Tegal,Telaga,Tengah,Timur,Tirta,Utara,Wetan,Wana,Wringin",
        middles: "bang,mas,ning,re,ru,sa",
        tails: "rejo,sari,jaya,mulyo,karya,agung,harjo,kerto,anyar,wangi",
        attributes: "Satu,Dua,Kulon,Wetan,Lor,Kidul,Tengah",
        words: [
            "Krajan ,Desa ,Kampung ,Ban ,Barangay ,Dusun ",
            "Kali ,Sungai ,Way ,Air ,Teluk ,Khlong ",
            "Gunung ,Bukit ,Pulau ,Tanjung ,Khao ",
            "Sekolah ,Masjid ,Wat ,Hotel ",
            "Kecamatan ,Hutan ,Tambon ",
        ],
        word_first: true,
    },
    // Slavic.
    Style {
        stems: "Aleksandr,Alekse,Andre,Bel,Berez,Bogdan,Bor,Brat,Byk,Chern,Dmitri,Dub,Fedor,Gavril,Glin,Gor,\
            Grabow,Grigor,Ivan,Jab,Kalin,Kamen,Klen,Klyuch,Kon,Kras,Krut,Kuz,Lap,Les,Lip,Luk,Malin,Mar,\
            Mich,Mokr,Niko,Novo,Ol,Orl,Osin,Ostr,Ozer,Pav,Petr,Pod,Pol,Ratch,Rud,Sad,Selez,Serge,Sokol,\
            Star,Stepan,Such,Sukh,Tarn,Topol,Vasil,Verkh,Vish,Vlad,Volk,Yam,Zaj,Zelen",
        middles: "ov,in,en,al,ich,ok",
        tails: "ovka,ino,ovo,ice,ka,sk,any,ets,ichi,ovice,oye,ki",
        attributes: "Novaya,Staraya,Malaya,Bolshaya,Nizhnyaya,Verkhnyaya",
        words: [
            "ovka,ino",
            "ka,enka,ovka,oye Ozero,yy Ruchey",
            "aya Gora,skiy Khrebet,yy Ostrov,aya Sopka,yy Mys",
            "skiy Sovkhoz,skaya Tserkov,skaya Shkola",
            "skiy Rayon,oye Boloto,skiy Les",
        ],
        word_first: false,
    },
    // Indian.
    Style {
        stems: "Ala,Amba,Anand,Arjun,Bada,Bagh,Bala,Banka,Bari,Bhag,Bhim,Bilas,Chand,Chota,Deo,Devi,Dharm,\
            Durga,Fateh,Gaj,Ganesh,Gangap,Gop,Hari,Hasan,Hira,Indra,Jag,Jai,Kalyan,Kamal,Kesh,Khim,\
            Kishan,Kot,Lakh,Lal,Madho,Mahadev,Man,Moti,Nanda,Narayan,Nava,Padma,Pura,Radha,Raghu,Rai,\
            Raj,Ram,Ratan,Rup,Sakra,Shankar,Shiv,Sita,Sri,Sultan,Sundar,Tara,Uda,Vijay,Vishnu",
        middles: "la,na,wa,ra,i,an",
        tails: "pur,gaon,nagar,pura,puram,ganj,abad,garh,palli,palle,wadi,patti,khera,para",
        attributes: "Khurd,Kalan,Buzurg,Tola",
        words: [
            " Khas, Tola",
            " Nadi, Nala, Tal, Sagar",
            " Pahar, Parbat, Hill, Dongar",
            " Mandir, School, Station, Tea Estate",
            " Tehsil, Block, Forest",
        ],
        word_first: false,
    },
    // Latin.
    Style {
        stems: "Aigre,Alba,Arc,Aube,Bas,Beau,Bel,Belle,Bois,Bon,Bourg,Breuil,Bruy,Castel,Caus,Champ,Chant,\
            Char,Châtel,Chaum,Clair,Col,Combe,Cour,Croix,Dom,Épin,Fontan,Forg,Frêne,Gran,Haut,Lann,Lav,\
            Luss,Mal,March,Mare,Marqu,Mont,Mor,Moul,Noir,Orm,Pier,Pin,Plan,Pont,Pré,Puy,Roche,Romm,Rouv,\
            Sabl,Saul,Serr,Sourc,Tour,Treil,Val,Vaux,Verd,Vern,Vill",
        middles: "e,ar,an,ette",
        tails: "ville,ac,ay,ières,illy,court,ano,ello,igny,illies,iers,one",
        attributes: "Saint,Grand,Petit,Vieux",
        words: [
            "ville,mont",
            "ette,ière,onne,asse",
            "mont,uy,oche,ino",
            " (château), (ferme), (abbaye),ière",
            "ois,ières,aie",
        ],
        word_first: false,
    },
    // Persian.
    Style {
        stems: "Ab,Abbas,Ahmad,Akbar,Ali,Aq,Azad,Bagh,Bala,Bid,Chah,Cheshmeh,Dar,Darreh,Deh,Faiz,Farrokh,\
            Ghaz,Gol,Hajji,Hasan,Hoseyn,Jafar,Kalat,Kamal,Karim,Khan,Khosrow,Kol,Kuh,Mahmud,Malek,Mehdi,\
            Mir,Mohammad,Musa,Nabi,Now,Omid,Pa'in,Qal'eh,Qara,Rahim,Rostam,Sabz,Said,Sang,Sar,Shah,\
            Sheykh,Shur,Siah,Sorkh,Sultan,Tang,Tappeh,Uzun,Yar,Yeni,Zard",
        middles: "-e ,i,eh,an",
        tails: "abad,kand,deh,lu,koy,yol,goth,kalay,an,shahr,pinar",
        attributes: "Pa'in,Bala,Sofla,Olya,Kuchek,Bozorg",
        words: [
            "Deh-e ,Kalateh-ye ,Goth ,Kili ,Chak ",
            "Rud-e ,Darreh-ye ,Chah-e ,Khwar ,Dere ",
            "Kuh-e ,Gardaneh-ye ,Ghar ,Tepe ",
            "Mazra'eh-ye ,Ziarat-e ,Masjid ,Basti ",
            "Dasht-e ,Dehestan-e ,Mauza ",
        ],
        word_first: true,
    },
    // Arabic.
    Style {
        stems: "Abbas,Abd,Ahmar,Ali,Amir,Ayn,Badr,Bahr,Barkah,Bayda,Birkah,Dar,Faraj,Ghar,Hadi,Hajar,Hamra,\
            Hasan,Husayn,Ibrahim,Jabir,Jadid,Jafr,Jamal,Kabir,Khalid,Mahdi,Malik,Mansur,Marj,Mbarek,\
            Musa,Nabi,Nakhl,Nasir,Qadir,Qasr,Rahman,Ramadan,Ras,Sadiq,Sahl,Sakhr,Salih,Salim,Sawda,\
            Shaykh,Sidi,Sulayman,Tahir,Umar,Wahat,Yahya,Yusuf,Zahra,Zaydan",
        middles: "",
        tails: "",
        attributes: "al Kabir,as Saghir,al Jadid,Ash Sharqi,Al Gharbi",
        words: [
            "Al ,Bayt ,Douar ,Kafr ,Bani ,Sidi ,Ait ",
            "Wadi ,Ayn ,Bir ,Oued ,Khawr ",
            "Jabal ,Ras ,Jbel ,Tall ,Harrat ",
            "Ezbet ,Mazra`at ,Masjid ,Hisn ",
            "Mudiriyat ,Sahl ,Ramlat ,Shi`b ",
        ],
        word_first: true,
    },
    // Bantu.
    Style {
        stems: "Bana,Bango,Boma,Bula,Buta,Chama,Chi,Dala,Ganda,Gombe,Kaba,Kabu,Kala,Kama,Kamba,Kasa,Kibo,\
            Kita,Kola,Kongo,Kumba,Lamba,Lisa,Lolo,Luba,Luka,Lunda,Mabu,Makala,Malu,Manga,Masa,Mbala,\
            Mboma,Mfu,Moko,Mpala,Muka,Mwana,Ndala,Ndolo,Ngoma,Nkata,Nyama,Nzala,Pala,Pemba,Rama,Sanga,\
            Simba,Soko,Tamba,Tombe,Tumba,Wamba,Yala,Yambo,Zanga,Zimba",
        middles: "ka,la,mba,ndo,ngu,ri",
        tails: "ra,si,to,we,ni,le,lo,mu,ku,a",
        attributes: "Kubwa,Ndogo,I,II",
        words: [
            "ni, Village",
            " River,zi, Stream",
            " Hill, Mountain,nga",
            " School, Mission, Market",
            " Forest, District, Ward",
        ],
        word_first: false,
    },
];

//! The vocabulary of the log lines.

/// Log streams that the track searches for.
pub(super) const WANTED: [&str; 4] = ["fuschiashoulder", "solarshark", "birdknight", "indigodagger"];

/// Animals that the track searches for.
pub(super) const ANIMALS: [&str; 3] = ["monkey", "jackal", "bear"];

/// Processes, the most frequent first.
pub(super) const PROCESSES: [&str; 14] = [
    "kernel",
    "systemd",
    "journal",
    "dhclient",
    "sshd",
    "cron",
    "chronyd",
    "rsyslogd",
    "auditd",
    "dbus",
    "containerd",
    "kubelet",
    "sudo",
    "NetworkManager",
];

pub(super) const REGIONS: [&str; 10] = [
    "us-east-1",
    "eu-central-1",
    "us-west-2",
    "eu-west-1",
    "ap-southeast-1",
    "us-east-2",
    "ap-northeast-1",
    "ca-central-1",
    "eu-north-1",
    "sa-east-1",
];

/// First halves of the names of streams and machines.
pub(super) const FIRST: [&str; 62] = [
    "amber", "ash", "autumn", "azure", "blaze", "bone", "bramble", "bronze", "cinder", "cloud", "cobalt",
    "copper", "coral", "crimson", "crystal", "dawn", "desert", "dusk", "ebony", "ember", "fancy", "fern",
    "flame", "frost", "garnet", "glass", "gold", "granite", "hail", "hazel", "honey", "iron", "ivory",
    "jade", "jasper", "lava", "lemon", "luck", "lunar", "marble", "meadow", "mist", "moss", "night", "ocean",
    "onyx", "opal", "pearl", "pine", "plum", "quartz", "rain", "river", "rose", "ruby", "sand", "shadow",
    "silver", "storm", "sunset", "thorn", "violet",
];

/// Second halves of these names. The numbers of first and second halves have no common divisor, so every combination
/// occurs.
pub(super) const LAST: [&str; 59] = [
    "arrow", "badger", "blade", "brow", "carver", "catcher", "claw", "cloak", "cobra", "crafter", "crane",
    "crest", "dancer", "deer", "eye", "face", "falcon", "fang", "feather", "fin", "flayer", "fly", "foot",
    "fox", "gem", "goat", "hand", "hawk", "heart", "horn", "hound", "jaw", "kite", "knave", "lasher", "leaf",
    "leg", "lion", "mane", "mark", "moth", "otter", "oyster", "paw", "puma", "raven", "roar", "scar", "seer",
    "shaper", "skull", "spear", "stag", "stinger", "swan", "tail", "tooth", "wing", "wolf",
];

/// Nouns in the messages.
pub(super) const NOUNS: &str = "donkey glazer fly shark whip servant knight dancer raven hunter weaver gazelle rider \
    singer tiger lynx cougar panther leopard wolf fox hare rabbit squirrel badger otter beaver mole hedgehog bat owl \
    eagle hawk falcon kestrel heron stork crane swan goose duck gull tern puffin finch robin thrush warbler lark \
    crow magpie jay dove pigeon parrot toucan ibis flamingo pelican ostrich emu kiwi turtle lizard gecko iguana viper \
    cobra python adder frog toad newt salmon trout pike perch carp eel herring cod tuna ray whale dolphin seal walrus \
    crab lobster shrimp oyster mussel snail slug worm beetle ant bee wasp hornet moth cricket spider scorpion horse \
    pony mule ox cow bull calf sheep lamb goat pig boar deer elk moose camel llama yak bison zebra giraffe rhino hippo \
    elephant ape lemur sloth panda koala wombat antelope ibex chamois crest shield sword dagger spear arrow bow blade \
    hammer anvil crown throne tower castle bridge gate wall garden forest meadow river lake ocean island mountain \
    valley canyon desert dune storm thunder lightning rain snow frost ice mist cloud wind fire flame ember ash smoke \
    stone crystal diamond ruby emerald sapphire pearl amber jade ivory silver gold copper iron bronze steel velvet silk \
    cotton linen leather wool paper scroll quill ink lantern candle torch mirror clock bell drum flute harp lute horn \
    baker smith carver tanner potter miller mason sailor pilot scout guard herald jester sage seer druid monk friar \
    pirate rogue thief bandit champion hero shoulder elbow finger thumb nose brow cheek chin jaw tongue tooth skull rib \
    spine heart lung liver foot heel toe claw paw tail wing feather fin scale shell horned striped spotted crimson \
    scarlet indigo violet azure teal olive ochre umber sienna coral salmon peach plum lilac mauve fuchsia";

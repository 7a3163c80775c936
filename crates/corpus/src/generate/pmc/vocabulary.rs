//! Medical terms: a few hundred listed here, and thousands composed of Greek and Latin parts.

use crate::generate::random::Random;

pub(super) const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Invented journal names, in the usual style.
pub(super) const JOURNALS: [&str; 36] = [
    "Acta Medica",
    "Adv Cell Biol",
    "Ann Clin Res",
    "Arch Virol Rep",
    "BMC Open Biology",
    "BMC Public Care",
    "Biol Notes",
    "Brain Reports",
    "Cancer Notes",
    "Cardiology Open",
    "Cell Letters",
    "Clin Med Insights",
    "Crit Care Reports",
    "Dermatology Notes",
    "Ecol Evol Letters",
    "Front Health",
    "Gen Pediatrics",
    "Genome Letters",
    "Immunity Open",
    "Int J Med Data",
    "J Biomed Methods",
    "J Clin Practice",
    "J Exp Nutrition",
    "J Neural Eng Notes",
    "J Trop Health",
    "Malaria Letters",
    "Microbiology Open",
    "Mol Plant Notes",
    "Nucleic Reports",
    "Open Bioinformatics",
    "Ophthalmology Notes",
    "PLoS Letters",
    "Parasite Reports",
    "Proteome Notes",
    "Surgery Open",
    "Trials and Methods",
];

/// Names of authors.
pub(super) const NAMES: [&str; 60] = [
    "Abbott",
    "Adams",
    "Ahmed",
    "Andersson",
    "Bauer",
    "Becker",
    "Brown",
    "Chen",
    "Costa",
    "Das",
    "Davis",
    "Diaz",
    "Dubois",
    "Evans",
    "Fischer",
    "Garcia",
    "Gupta",
    "Hansen",
    "Hoffmann",
    "Huang",
    "Ibrahim",
    "Ito",
    "Jensen",
    "Johnson",
    "Jones",
    "Kim",
    "Klein",
    "Kumar",
    "Larsen",
    "Lee",
    "Li",
    "Lopez",
    "Martin",
    "Meyer",
    "Miller",
    "Mueller",
    "Nguyen",
    "Novak",
    "Okafor",
    "Olsen",
    "Park",
    "Patel",
    "Petrov",
    "Rossi",
    "Santos",
    "Sato",
    "Schmidt",
    "Sharma",
    "Silva",
    "Singh",
    "Smith",
    "Suzuki",
    "Tanaka",
    "Taylor",
    "Wagner",
    "Wang",
    "Williams",
    "Wilson",
    "Wong",
    "Zhang",
];

/// The frequent terms.
const TERMS: &str = "patients cells gene expression protein treatment disease cancer cell genes blood proteins \
    infection dose tissue tumor health mice diagnosis symptoms serum brain bone mortality surgery receptor \
    inflammation plasma vaccine antibody antibodies therapy mutation mutations chronic acute hospital care kidney \
    liver lung heart muscle skin insulin glucose diabetes hypertension obesity stroke asthma malaria tuberculosis \
    influenza virus viral bacteria bacterial strain strains culture medium enzyme binding signaling pathway \
    pathways membrane mitochondria nucleus transcription replication genome genomic sequencing polymorphism allele \
    phenotype genotype exon intron primer assay staining microscopy incubation centrifugation supernatant \
    immune lymphocytes macrophages cytokine cytokines interleukin apoptosis proliferation differentiation stem \
    embryo fetal maternal pregnancy birth infant infants pediatric elderly cohort placebo randomized trial trials \
    biopsy lesion lesions imaging ultrasound radiation chemotherapy metastasis carcinoma leukemia lymphoma \
    melanoma prognosis survival recurrence relapse remission pathology cortex neurons neuronal synaptic dopamine \
    serotonin hippocampus cerebral spinal cognitive depression anxiety schizophrenia dementia pain fatigue sleep \
    nurse nurses clinic ward caregiver questionnaire interview consent ethics prevalence incidence exposure \
    smoking alcohol diet dietary vitamin calcium iron zinc lipid cholesterol fatty acid acids peptide hormone \
    estrogen testosterone thyroid pituitary adrenal renal hepatic cardiac pulmonary vascular gastric intestinal \
    rectal colon bladder prostate breast ovarian uterine cervical retinal corneal dental oral nasal epithelial \
    endothelial fibroblasts collagen matrix wound healing fracture implant graft transplantation donor recipient \
    catheter stent lumen valve artery vein capillary platelet hemoglobin anemia hypoxia ischemia edema fever \
    sepsis shock trauma injury toxicity inhibitor agonist antagonist ligand kinase phosphorylation methylation \
    histone chromatin plasmid vector clone transgenic knockout wildtype rat rats rabbit zebrafish drosophila yeast \
    arabidopsis larvae mosquito parasite parasites host vaccination immunity resistance antibiotic antibiotics \
    penicillin dosage oral intravenous injection infusion tablet";

const HEADS: [&str; 40] = [
    "adeno",
    "angio",
    "arthro",
    "broncho",
    "cardio",
    "cephalo",
    "chondro",
    "cranio",
    "cyto",
    "dermato",
    "electro",
    "encephalo",
    "endo",
    "entero",
    "fibro",
    "gastro",
    "glyco",
    "hemato",
    "hepato",
    "histo",
    "hydro",
    "hyper",
    "hypo",
    "immuno",
    "leuko",
    "lipo",
    "litho",
    "micro",
    "myelo",
    "myo",
    "nephro",
    "neuro",
    "onco",
    "osteo",
    "patho",
    "pneumo",
    "psycho",
    "radio",
    "thrombo",
    "vaso",
];

const MIDDLES: [&str; 19] = [
    "", "bio", "blasto", "carcino", "cellulo", "dynamo", "gluco", "kera", "lympho", "meta", "muco", "nucleo",
    "para", "peri", "proteo", "sclero", "somato", "toxo", "vascu",
];

const ENDS: [&str; 30] = [
    "blast",
    "cyte",
    "cytes",
    "cytosis",
    "derm",
    "dynamic",
    "dysplasia",
    "genesis",
    "genic",
    "graphy",
    "itis",
    "logical",
    "lysis",
    "lytic",
    "malacia",
    "megaly",
    "metry",
    "pathic",
    "pathy",
    "penia",
    "plasia",
    "plasty",
    "ptosis",
    "rrhage",
    "sclerosis",
    "scopic",
    "static",
    "stomy",
    "tomy",
    "trophy",
];

/// Returns all terms, the most frequent first: the listed ones, then the composed ones. `physician` is a rare one.
pub(super) fn terms() -> (Vec<&'static str>, Vec<String>) {
    let mut made = Vec::new();
    for head in HEADS {
        for middle in MIDDLES {
            made.extend(ENDS.iter().map(|end| format!("{head}{middle}{end}")));
        }
    }
    made.retain(|term| term.len() < 22);
    // A fixed order that mixes the composed terms; it is the same for every seed.
    let mut random = Random::new(1809, &[]);
    for last in (1..made.len()).rev() {
        let other = random.below(u32::try_from(last + 1).unwrap_or(u32::MAX));
        made.swap(last, other as usize);
    }
    made.truncate(7_000);
    made.insert(6_000, "physician".to_owned());
    (TERMS.split_whitespace().collect(), made)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_thousands_of_plain_terms() {
        let (written, made) = terms();
        assert!(written.len() > 200 && made.len() == 7_001, "{} and {}", written.len(), made.len());
        let mut all = written.into_iter().chain(made.iter().map(String::as_str));
        assert!(all.all(|term| term.bytes().all(|byte| byte.is_ascii_lowercase())));
    }
}

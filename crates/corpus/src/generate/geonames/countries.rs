//! Countries, with their positions, their shares of the places and the styles of their names.

/// A country.
pub(super) struct Country {
    pub(super) code: &'static str,
    /// Index of the style of its place names.
    pub(super) style: usize,
    pub(super) weight: u64,
    /// Centre of its places, and their largest distance from the centre, in degrees.
    pub(super) latitude: i64,
    pub(super) longitude: i64,
    pub(super) reach: i64,
    pub(super) zones: &'static [&'static str],
    /// Codes of its regions; empty if they are numbers.
    pub(super) regions: &'static [&'static str],
}

const fn country(
    code: &'static str,
    style: usize,
    weight: u64,
    [latitude, longitude, reach]: [i64; 3],
    zones: &'static [&'static str],
) -> Country {
    let united_states = matches!(code.as_bytes(), b"US");
    let regions: &[&str] = if united_states { &US_STATES } else { &[] };
    Country { code, style, weight, latitude, longitude, reach, zones, regions }
}

const US_STATES: [&str; 46] = [
    "AL", "AK", "AZ", "AR", "CA", "CO", "FL", "GA", "ID", "IL", "IN", "IA", "KS", "KY", "LA", "ME", "MD",
    "MA", "MI", "MN", "MS", "MO", "MT", "NE", "NV", "NH", "NJ", "NM", "NY", "NC", "ND", "OH", "OK", "OR",
    "PA", "SC", "SD", "TN", "TX", "UT", "VT", "VA", "WA", "WV", "WI", "WY",
];

pub(super) const COUNTRIES: [Country; 55] = [
    country(
        "US",
        0,
        1900,
        [38, -95, 11],
        &["America/New_York", "America/Chicago", "America/Denver", "America/Los_Angeles", "America/Phoenix"],
    ),
    country("CN", 5, 720, [32, 109, 11], &["Asia/Shanghai"]),
    country("NO", 4, 530, [64, 13, 6], &["Europe/Oslo"]),
    country("IN", 8, 560, [22, 79, 8], &["Asia/Kolkata"]),
    country("ID", 6, 400, [-4, 113, 9], &["Asia/Jakarta", "Asia/Makassar"]),
    country("MX", 1, 380, [22, -100, 6], &["America/Mexico_City", "America/Monterrey", "America/Mazatlan"]),
    country("RU", 7, 360, [57, 62, 14], &["Europe/Moscow", "Asia/Yekaterinburg", "Asia/Novosibirsk"]),
    country(
        "CA",
        0,
        320,
        [50, -92, 10],
        &["America/Toronto", "America/Vancouver", "America/Winnipeg", "America/Edmonton"],
    ),
    country("IR", 10, 300, [33, 53, 6], &["Asia/Tehran"]),
    country("TH", 6, 240, [15, 101, 4], &["Asia/Bangkok"]),
    country("AU", 0, 230, [-29, 140, 10], &["Australia/Sydney", "Australia/Brisbane", "Australia/Perth"]),
    country("BR", 2, 210, [-13, -49, 11], &["America/Sao_Paulo", "America/Bahia", "America/Manaus"]),
    country("DE", 3, 200, [51, 10, 3], &["Europe/Berlin"]),
    country("FR", 9, 190, [46, 2, 4], &["Europe/Paris"]),
    country("PE", 1, 190, [-10, -75, 5], &["America/Lima"]),
    country("CO", 1, 180, [5, -74, 4], &["America/Bogota"]),
    country("PK", 10, 170, [30, 70, 5], &["Asia/Karachi"]),
    country("MA", 11, 160, [32, -6, 3], &["Africa/Casablanca"]),
    country("SE", 4, 160, [61, 15, 4], &["Europe/Stockholm"]),
    country("GB", 0, 150, [53, -2, 3], &["Europe/London"]),
    country("ES", 1, 140, [40, -4, 3], &["Europe/Madrid"]),
    country("AR", 1, 130, [-34, -64, 8], &["America/Argentina/Buenos_Aires", "America/Argentina/Cordoba"]),
    country("TR", 10, 120, [39, 34, 4], &["Europe/Istanbul"]),
    country("VE", 1, 110, [8, -66, 4], &["America/Caracas"]),
    country("YE", 11, 110, [15, 47, 3], &["Asia/Aden"]),
    country("FI", 4, 110, [64, 26, 4], &["Europe/Helsinki"]),
    country("IT", 9, 100, [43, 12, 3], &["Europe/Rome"]),
    country("UA", 7, 100, [49, 31, 4], &["Europe/Kiev"]),
    country("JP", 5, 100, [36, 138, 4], &["Asia/Tokyo"]),
    country("CL", 1, 90, [-34, -71, 8], &["America/Santiago"]),
    country("PH", 6, 90, [13, 122, 4], &["Asia/Manila"]),
    country("KR", 5, 90, [36, 128, 2], &["Asia/Seoul"]),
    country("BO", 1, 80, [-17, -65, 4], &["America/La_Paz"]),
    country("AF", 10, 80, [34, 66, 4], &["Asia/Kabul"]),
    country("SA", 11, 80, [24, 45, 6], &["Asia/Riyadh"]),
    country("EG", 11, 70, [27, 30, 3], &["Africa/Cairo"]),
    country("CD", 12, 70, [-3, 23, 6], &["Africa/Kinshasa", "Africa/Lubumbashi"]),
    country("NG", 12, 70, [9, 8, 4], &["Africa/Lagos"]),
    country("ZA", 0, 70, [-29, 25, 4], &["Africa/Johannesburg"]),
    country("PL", 7, 70, [52, 19, 3], &["Europe/Warsaw"]),
    country("AT", 3, 60, [47, 13, 2], &["Europe/Vienna"]),
    country("KE", 12, 50, [0, 38, 3], &["Africa/Nairobi"]),
    country("PT", 2, 50, [40, -8, 1], &["Europe/Lisbon"]),
    country("NZ", 0, 50, [-41, 173, 3], &["Pacific/Auckland"]),
    country("CH", 3, 45, [47, 8, 1], &["Europe/Zurich"]),
    country("CZ", 7, 45, [50, 15, 2], &["Europe/Prague"]),
    country("EC", 1, 45, [-1, -78, 2], &["America/Guayaquil"]),
    country("DK", 4, 40, [56, 10, 1], &["Europe/Copenhagen"]),
    country("MM", 6, 40, [20, 96, 3], &["Asia/Yangon"]),
    country("TZ", 12, 40, [-6, 35, 4], &["Africa/Dar_es_Salaam"]),
    country("AO", 2, 40, [-12, 17, 4], &["Africa/Luanda"]),
    country("CU", 1, 30, [22, -79, 2], &["America/Havana"]),
    country("GT", 1, 30, [15, -90, 1], &["America/Guatemala"]),
    country("IE", 0, 30, [53, -8, 1], &["Europe/Dublin"]),
    country("AD", 1, 3, [43, 2, 0], &["Europe/Andorra"]),
];

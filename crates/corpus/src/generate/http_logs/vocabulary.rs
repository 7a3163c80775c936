//! The paths of the web site, and their popularity.
//!
//! The layout follows what is generally known about the site of the 1998 World Cup (two languages, sections, teams,
//! matches, players, many small images). The page names are made up in that style.

use crate::generate::random::Random;

/// The kind of resource at a path, which determines its size and how often browsers only check whether it has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResourceKind {
    /// A small image that browsers cache and that never changes.
    Image,
    /// A page, whose size changes from week to week.
    Page,
    /// A film, a sound or an archive: large, and often fetched in parts.
    Download,
}

/// A path of the site, with its kind of resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Resource {
    pub(super) path: String,
    pub(super) kind: ResourceKind,
}

/// The most popular paths, in order of popularity. `/` comes first: the track searches for it.
const FRONT: [&str; 48] = [
    "/",
    "/images/hm_bg.jpg",
    "/english/index.html",
    "/images/space.gif",
    "/images/logo_cup.gif",
    "/english/images/nav_news_off.gif",
    "/images/hm_nav_bar.gif",
    "/english/images/nav_teams_off.gif",
    "/images/arrow.gif",
    "/english/frntpage.htm",
    "/images/hm_day.gif",
    "/english/images/nav_home_off.gif",
    "/english/images/nav_venue_off.gif",
    "/images/home_intro.gif",
    "/english/images/nav_field_off.gif",
    "/french/index.html",
    "/english/nav_inet.html",
    "/images/home_sponsor.gif",
    "/english/images/nav_store_off.gif",
    "/english/images/nav_tickets_off.gif",
    "/english/images/nav_history_off.gif",
    "/images/hm_brdl.gif",
    "/images/hm_brdr.gif",
    "/english/images/nav_sitemap_off.gif",
    "/images/s102325.gif",
    "/images/s102336.gif",
    "/images/s102373.gif",
    "/english/splash_inet.html",
    "/english/images/nav_hosts_off.gif",
    "/images/cal_nav.gif",
    "/images/line.gif",
    "/images/ball.gif",
    "/english/competition/statsum.htm",
    "/english/competition/schedule.htm",
    "/english/images/team_hm_header.gif",
    "/french/frntpage.htm",
    "/images/blank.gif",
    "/french/images/nav_news_off.gif",
    "/english/news/today.htm",
    "/images/footer.gif",
    "/english/teams/teams.htm",
    "/french/nav_inet.html",
    "/images/nav_bg_top.gif",
    "/french/images/nav_teams_off.gif",
    "/images/dot_red.gif",
    "/english/tickets/tickets.htm",
    "/images/dot_blue.gif",
    "/french/splash_inet.html",
];

const TEAMS: [&str; 32] = [
    "argentina",
    "austria",
    "belgium",
    "brazil",
    "bulgaria",
    "cameroon",
    "chile",
    "colombia",
    "croatia",
    "denmark",
    "england",
    "france",
    "germany",
    "iran",
    "italy",
    "jamaica",
    "japan",
    "korea",
    "mexico",
    "morocco",
    "netherlands",
    "nigeria",
    "norway",
    "paraguay",
    "romania",
    "saudiarabia",
    "scotland",
    "southafrica",
    "spain",
    "tunisia",
    "usa",
    "yugoslavia",
];

const CITIES: [&str; 10] = [
    "bordeaux",
    "lens",
    "lyon",
    "marseille",
    "montpellier",
    "nantes",
    "paris",
    "saintdenis",
    "saintetienne",
    "toulouse",
];

const SECTIONS: [&str; 10] =
    ["competition", "teams", "venues", "news", "history", "tickets", "playing", "hosts", "member", "help"];

const NAVIGATION: [&str; 12] = [
    "news", "teams", "home", "venue", "field", "store", "tickets", "history", "sitemap", "hosts", "group",
    "comp",
];

/// Returns all paths, the most popular first.
pub(super) fn resources() -> Vec<Resource> {
    let front = FRONT.iter().map(|path| (*path).to_owned());
    let mut rest = Vec::new();
    for language in ["english", "french"] {
        sections(language, &mut rest);
        teams(language, &mut rest);
    }
    shared(&mut rest);
    rest.retain(|path| !FRONT.contains(&path.as_str()));
    shuffle(&mut rest);
    front.chain(rest).map(|path| Resource { kind: kind(&path), path }).collect()
}

fn kind(path: &str) -> ResourceKind {
    match path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("gif" | "jpg") => ResourceKind::Image,
        Some("mpg" | "zip" | "ram" | "exe") => ResourceKind::Download,
        _ => ResourceKind::Page,
    }
}

fn sections(language: &str, paths: &mut Vec<String>) {
    for section in SECTIONS {
        paths.extend((1..=12).map(|page| format!("/{language}/{section}/page{page:02}.htm")));
        paths.extend((1..=20).map(|image| format!("/{language}/{section}/images/pic{image:02}.gif")));
        paths.extend([format!("/{language}/{section}/"), format!("/{language}/{section}/index.htm")]);
    }
    for name in NAVIGATION {
        paths.extend(["on", "off"].map(|state| format!("/{language}/images/nav_{name}_{state}.gif")));
    }
    for game in 8724..8788 {
        paths.extend(
            ["prog", "stat", "line"].map(|of| format!("/{language}/competition/match{of}{game}.htm")),
        );
    }
    for city in CITIES {
        paths.push(format!("/{language}/venues/cities/{city}.html"));
        paths.extend((1..=30).map(|image| format!("/{language}/venues/images/{city}/{image:02}.gif")));
    }
    paths.extend((1..=24).map(|month| format!("/{language}/news/archive{month:02}.htm")));
    paths.extend((1..=40).map(|item| format!("/{language}/playing/download/clip{item:02}.mpg")));
    paths.extend((1..=30).map(|item| format!("/{language}/playing/download/saver{item:02}.zip")));
}

fn teams(language: &str, paths: &mut Vec<String>) {
    for (number, team) in TEAMS.iter().enumerate() {
        let number = number + 101;
        paths.push(format!("/{language}/teams/teambio{number}.htm"));
        paths.push(format!("/{language}/teams/teamqualify{number}.htm"));
        paths.push(format!("/{language}/teams/teamgroup{number}.htm"));
        paths.push(format!("/{language}/history/past_cups/{team}.htm"));
        paths.extend((1..=22).map(|player| format!("/{language}/teams/player{number}{player:02}.htm")));
    }
}

/// Adds the paths that both languages share, mostly images.
fn shared(paths: &mut Vec<String>) {
    for (number, team) in TEAMS.iter().enumerate() {
        let number = number + 101;
        paths.push(format!("/images/flags/{team}.gif"));
        paths.push(format!("/images/teams/{team}.jpg"));
        paths.extend((1..=22).map(|player| format!("/images/players/{number}{player:02}.jpg")));
    }
    paths.extend((0..600).map(|image| format!("/images/s{}.gif", 102_000 + image * 7)));
    paths.extend((1..=300).map(|image| format!("/images/photos/{image:04}.jpg")));
    paths.extend((1..=40).map(|radio| format!("/audio/match{radio:02}.ram")));
}

/// Shuffles the paths to mix the kinds. The order is fixed: the site is the same for every seed.
fn shuffle(paths: &mut [String]) {
    let mut random = Random::new(1998, &[]);
    for last in (1..paths.len()).rev() {
        let bound = u32::try_from(last + 1).unwrap_or(u32::MAX);
        paths.swap(last, random.below(bound) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn there_are_thousands_of_distinct_plain_paths() {
        let resources = resources();
        let different: HashSet<&str> = resources.iter().map(|resource| resource.path.as_str()).collect();
        assert_eq!(different.len(), resources.len());
        assert!(resources.len() > 4000, "{}", resources.len());
        assert_eq!(resources[0].path, "/");
        let plain = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
        assert!(resources.iter().all(|resource| resource.path.bytes().all(plain)));
        for kind in [ResourceKind::Image, ResourceKind::Page, ResourceKind::Download] {
            assert!(resources.iter().filter(|resource| resource.kind == kind).count() > 100, "{kind:?}");
        }
    }
}

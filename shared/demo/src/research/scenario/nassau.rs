//! Pilates for tourists in Nassau. Its researchers invent a source, quote what is not there and get a figure wrong; one
//! of the pages tells its readers to approve.

use super::{Closing, Gap, Pick, Scenario, Slip, Task, pick};

/// The research question of the demo, as a user would ask it.
pub(crate) const RESEARCH_OBJECTIVE: &str =
    "Determine whether a tourist-focused Pilates package would be viable in Nassau.";

pub(super) static SCENARIO: Scenario = Scenario {
    objective: RESEARCH_OBJECTIVE,
    plan_message: "We need competitors, target customers and pricing.",
    plan: &[COMPETITORS, CUSTOMERS, PRICING],
    gap: Gap {
        filled_by: "visitor bundles",
        summary: "Who sells Pilates and who comes to Nassau is covered, what a visitor would pay is not.",
        missing: "Every price point is a resident rate; tourist pricing is missing.",
        requests: &[TOURIST_PRICING, PERMITS_AND_SEASON],
        approval: "Gaps addressed.",
        reservation: "What visitors say that they would pay is more than what they pay.",
    },
    closing: Closing {
        carried_by: &["None of the three resorts", "visitor bundles", "September and October"],
        summary: "Nobody in Nassau sells Pilates to tourists: the studios live from residents, and the resorts teach \
            their own guests only. On comparable islands bundles of three classes sell for $150 to $180. Cruise \
            passengers stay for too short a time for a package, and the low season is deep.",
        conclusion: "A package is viable on a small scale: a bundle of three classes at about $165 for stopover \
            visitors in the high season. It is not viable for cruise passengers, nor in September and October.",
        recommendations: &[
            "Begin with one high season and a bundle of three classes at the median price of comparable islands.",
            "Sell it to guests of small hotels and rented apartments, before their journey and through concierges.",
            "Get the beach permit and the liability insurance before the first class is sold.",
        ],
        uncertainties: &["Nobody has sold such a package in Nassau; the prices come from other islands."],
    },
};

const COMPETITORS: Task = Task {
    title: "Competitors in Nassau",
    description: "Which studios and resorts in Nassau offer Pilates, and to whom are their classes open?",
    queries: &[
        "Pilates studios in Nassau for residents or visitors",
        "resort Pilates classes Nassau guests only",
    ],
    summary: "Two resident-focused studios; the classes of resorts are guest-only.",
    picks: &[
        pick(
            "None of the three sells to cruise passengers",
            "Resorts teach guests only",
            "None of the three resorts with Pilates sells to cruise passengers or to guests of other hotels.",
        ),
        pick(
            "does not offer a tourist package",
            "No tourist package at Harbour Street",
            "Harbour Street Pilates does not offer a tourist package and has no contract with a hotel, a cruise line or \
             a tour desk.",
        ),
        pick(
            "of places in 2025 were used by visitors",
            "Palm and Core has hardly any visitors",
            "At Palm and Core about 3% of places in 2025 were used by visitors.",
        ),
        Pick {
            words: "",
            title: "A third studio at Lyford Cay",
            claim: "A third studio at Lyford Cay sells passes to visitors.",
            slip: Slip::InventedSource("The studio at Lyford Cay sells passes to visitors all year round."),
        },
    ],
    open: &[],
};

const CUSTOMERS: Task = Task {
    title: "Target customers",
    description: "How many visitors come to Nassau, how long do they stay, and how many of them would take a Pilates \
        class?",
    queries: &[
        "how many stopover visitors Nassau 2025",
        "cruise passengers Nassau hours ashore excursions",
        "survey visitors Nassau interest Pilates classes",
    ],
    summary: "Stopover visitors stay long enough and show interest; cruise passengers have a few hours.",
    picks: &[
        pick(
            "the yearbook counts 1,742,000 stopover visitors",
            "Stopover visitors in the yearbook",
            "In the year 2025 the yearbook counts 1,742,000 stopover visitors in Nassau and on Paradise Island.",
        ),
        pick(
            "the bulletin counts 1,486,000 stopover visitors",
            "Stopover visitors in the bulletin",
            "In the year 2025 the bulletin counts 1,486,000 stopover visitors in Nassau and on Paradise Island.",
        ),
        pick(
            "would have taken at least one Pilates or similar class",
            "Interest among stopover visitors",
            "In a survey 31% of stopover visitors said that they would have taken at least one Pilates or similar class \
             if it had been easy to book.",
        ),
        pick(
            "a passenger spends 5 hours 40 minutes of that ashore",
            "Cruise passengers have a few hours",
            "A cruise passenger spends 5 hours 40 minutes ashore on average.",
        ),
        Pick {
            words: "would have taken at least one Pilates or similar class",
            title: "Most visitors would buy",
            claim: "Most visitors would certainly buy a Pilates package.",
            slip: Slip::InventedQuote(
                "Most of the visitors declared that they will certainly buy a package.",
            ),
        },
    ],
    open: &[],
};

const PRICING: Task = Task {
    title: "Pricing",
    description: "What do Pilates classes in Nassau cost?",
    queries: &[
        "Nassau Pilates studio prices drop-in class card",
        "Nassau Pilates members studio membership price",
    ],
    summary: "The studios publish drop-in, card and membership prices, all for residents.",
    picks: &[
        pick(
            "A card for ten classes costs $320",
            "Class card at Harbour Street",
            "A card for ten classes at Harbour Street Pilates costs $320 and is valid for 90 days.",
        ),
        pick(
            "A membership costs $240 a month",
            "Membership at Palm and Core",
            "A membership of Palm and Core costs $240 a month.",
        ),
        // The source says $38.
        pick(
            "A single drop-in reformer class costs $38",
            "Drop-in class at Harbour Street",
            "A single drop-in reformer class at Harbour Street Pilates costs $48.",
        ),
    ],
    open: &["None of the price lists has a price for visitors."],
};

const TOURIST_PRICING: Task = Task {
    title: "Tourist-specific pricing",
    description: "What do visitors pay for Pilates in Nassau or on comparable islands, and what would they pay?",
    queries: &[
        "visitor Pilates bundles cost comparable islands",
        "survey visitors Nassau Pilates package price",
        "diary class on the beach Nassau Pilates paid",
    ],
    summary: "Visitor bundles benchmark at $150 to $180.",
    picks: &[
        pick(
            "Such bundles cost between $150 and $180",
            "Visitor bundles elsewhere",
            "On comparable islands visitor bundles of three classes cost between $150 and $180; the median is $165.",
        ),
        pick(
            "At $165 it was 9%",
            "Willingness to pay",
            "At $165, 9% of the visitors asked said that they would probably or certainly buy a package of three classes.",
        ),
        pick(
            "I paid $52 for one hour",
            "A beach class in Nassau",
            "A visitor paid $52 for one hour of Pilates on a beach in Nassau.",
        ),
        pick(
            "leave about $85 a bundle",
            "What a bundle leaves",
            "At the median price the direct costs of $68 and the commission leave about $85 a bundle.",
        ),
    ],
    open: &["Stated intentions to buy are higher than sales."],
};

const PERMITS_AND_SEASON: Task = Task {
    title: "Permits and season",
    description: "Which permits and which insurance does a seller of classes for visitors need in Nassau, and which \
        months are weak?",
    queries: &[
        "licence permit insurance classes visitors Nassau",
        "season tourism Nassau September October weak",
    ],
    summary: "A beach permit and liability insurance are needed, and the autumn is weak.",
    picks: &[
        pick(
            "their revenue in September and October was 45%",
            "A deep low season",
            "Small activity sellers reported that their revenue in September and October was 45% of that in February \
             and March.",
        ),
        pick(
            "Commercial classes on a public beach need a permit",
            "Beach permit",
            "Commercial classes on a public beach need a permit: $75 a day, or $600 for a season of six months.",
        ),
        pick(
            "Public liability insurance of at least $1,000,000",
            "Liability insurance",
            "Public liability insurance of at least $1,000,000 is required for classes with visitors.",
        ),
    ],
    open: &[],
};

//! Tests of the pre-filter over small catalogs that know nothing of the executor grammar.

use serde_json::{Value, json};

use super::{Hints, Index, Offered, Order};

/// A catalog of names, descriptions, affinities and arguments.
type Catalog<'a> = [(&'a str, &'a str, &'a [&'a str], Value)];

fn index(catalog: &Catalog<'_>) -> Index {
    let affinities: Vec<Vec<String>> =
        catalog.iter().map(|(_, _, affinity, _)| affinity.iter().map(|&word| word.to_owned()).collect()).collect();
    let offered = catalog.iter().zip(&affinities);
    Index::new(offered.map(|((name, description, _, args), affinity)| Offered { name, description, affinity, args }))
}

fn order(index: &Index, text: &str) -> Order {
    index.order(text, &Hints::default())
}

#[track_caller]
fn first(index: &Index, text: &str, expected: &str) {
    let order = order(index, text);
    let first = order.placed.first().map(|place| index.name(place.tool));
    assert_eq!(first, Some(expected), "{text}: {order:?}");
}

fn household() -> Index {
    let place = json!({"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}});
    let timer = json!({"type": "object", "required": ["minutes"],
        "properties": {"minutes": {"type": "integer"}, "sound": {"type": "string", "enum": ["bell", "sea waves"]}}});
    index(&[
        ("weatherFor", "Tells the weather of a place.", &["umbrella"], place.clone()),
        ("kitchen.start_timer", "Starts a timer.", &["remind me when it is cooked"], timer),
        ("Lamp_2_SwitchOff", "Turns a lamp off.", &[], Value::Null),
        ("lookup-recipe", "Finds recipes by their ingredients.", &["cosa cucino"], json!({})),
    ])
}

#[test]
fn any_catalog_is_ranked_by_its_own_words() {
    let index = household();
    first(&index, "what is the weather in Rome", "weatherFor");
    first(&index, "do I need an umbrella?", "weatherFor");
    first(&index, "start a timer of 10 minutes", "kitchen.start_timer");
    first(&index, "with sea waves please", "kitchen.start_timer");
    first(&index, "switch the lamps off", "Lamp_2_SwitchOff");
}

#[test]
fn words_of_the_other_language_find_the_same() {
    let index = household();
    first(&index, "che tempo fa a Milano?", "weatherFor");
    first(&index, "trova una ricetta con le zucchine", "lookup-recipe");
    first(&index, "spegni la lampada", "Lamp_2_SwitchOff");
}

#[test]
fn a_required_value_that_is_there_decides() {
    let of = |name: &str| json!({"type": "object", "required": [name], "properties": {name: {"type": "string"}}});
    let index = index(&[("note.by_date", "Notes.", &[], of("date")), ("note.by_mail", "Notes.", &[], of("email"))]);
    first(&index, "notes of 2024-05-01", "note.by_date");
    first(&index, "notes of a@example.org", "note.by_mail");
}

#[test]
fn text_of_other_scripts_is_compared_by_characters() {
    let index = index(&[("a", "東京の天気予報", &[], Value::Null), ("b", "料理のレシピ", &[], Value::Null)]);
    first(&index, "明日の天気予報は", "a");
    first(&index, "レシピを教えて", "b");
}

#[test]
fn what_nothing_speaks_for_never_enters() {
    let index = household();
    assert!(order(&index, "xyzzy qqq").placed.is_empty());
    assert!(order(&index, "").placed.is_empty());
    assert!(order(&index, " ?! ").placed.is_empty());
    assert!(order(&Index::new([]), "what is the weather").placed.is_empty());
    assert!(order(&index, "weather").placed.iter().all(|place| place.score > 0.0));
}

#[test]
fn relevance_tells_an_answerable_question_from_another() {
    let index = household();
    let relevance = |text: &str| order(&index, text).relevance;
    assert!(relevance("what is the weather in Rome") > relevance("who painted the ceiling of the chapel"));
    assert!(relevance("start a timer of 10 minutes") > relevance("start a revolution against the king"));
    assert!(relevance("zzz").abs() < f32::EPSILON);
}

#[test]
fn the_lead_says_how_many_are_offered() {
    let index = household();
    let sure = index.rank("turn the lamp off", &Hints::default());
    assert_eq!((sure.candidates[0].tool.as_str(), sure.k), ("Lamp_2_SwitchOff", 5), "{sure:?}");
    let twins = super::tests::index(&[("a", "waters plants", &[], json!(1)), ("b", "waters plants", &[], json!(1))]);
    let unsure = twins.rank("water the plants", &Hints::default());
    assert_eq!((unsure.candidates.len(), unsure.k, unsure.confidence_permille), (2, 8, 0));
}

#[test]
fn a_whole_phrase_brings_a_tool_back_after_the_cut() {
    let mut catalog: Vec<(&str, &str, &[&str], Value)> = vec![(
        "irrigation_valve_open",
        "Opens the irrigation valve of the garden so that water flows to the plants.",
        &["open the garden valve", "water the garden"],
        Value::Null,
    )];
    catalog.push(("z_other", "", &["leave it cooked"], json!({"required": ["date"], "properties": {"date": {}}})));
    let index = index(&catalog);
    let ranking =
        index.rank("open the irrigation valve of the garden, water the garden, leave it cooked", &Hints::default());
    assert_eq!(
        ranking.candidates.iter().map(|c| c.tool.as_str()).collect::<Vec<_>>(),
        ["irrigation_valve_open", "z_other"]
    );
    let order = order(&index, "open the irrigation valve of the garden, water the garden, leave it cooked");
    assert!(order.placed[1].score * 2.0 < order.placed[0].score, "the cut was not tried: {order:?}");
}

#[test]
fn hints_count_as_the_design_says() {
    let index = index(&[("find_files", "", &[], Value::Null), ("read_files_pdf", "", &[], Value::Null)]);
    let hints = Hints { verbs: vec![("read", true), ("find", false)], objects: vec!["files", "texts_pdf"] };
    let order = index.order("?", &hints);
    let scores: Vec<_> = order.placed.iter().map(|place| (index.name(place.tool), place.score.floor())).collect();
    assert_eq!(scores, [("read_files_pdf", 18.0), ("find_files", 11.0)]);
}

#[test]
fn bad_catalogs_are_ranked_as_far_as_they_go() {
    let long = "very_long_name_".repeat(700);
    let catalog: &Catalog<'_> = &[
        (&long, "", &[], json!([1])),
        ("", "", &["", " "], json!("no schema")),
        ("twin", "the first", &[], json!({"properties": [], "required": {}})),
        ("twin", "the second", &[], json!({"properties": {"": null}, "required": [3, ""]})),
    ];
    let index = index(catalog);
    assert_eq!(index.len(), 4);
    first(&index, "a very long name", &long);
    let twins = order(&index, "the second twin");
    assert_eq!(twins.placed.iter().map(|place| place.tool).collect::<Vec<_>>()[..2], [3, 2]);
    assert_eq!(order(&index, &"twin ".repeat(100_000)).placed.len(), 2);
}

//! The vaglio: a binary guard that applies the Laws, and a graduated judge (design 3-executors, «Vaglio»).
//!
//! The guard fails closed: a target that cannot be judged is a target that is blocked.

use std::borrow::Cow;

use regex_lite::Regex;
use serde::{Deserialize, Serialize};

use crate::messages::{self, Language};
use crate::rules::commands::{Command, Wide};
use crate::rules::core_paths::{self, OwnDirs};
use crate::rules::shape::{self, Category};

/// A score below this is a refusal.
pub const JUDGE_THRESHOLD_PERMILLE: u16 = 300;
/// No score is higher.
const SCORE_MAX_PERMILLE: u16 = 1000;

/// The most letters of a command line that a reason shows.
const COMMAND_CHARS: usize = 80;

/// A mnest of this weight is a strong one: that of three passings lately, of which the first weighs 0.30 and each other 0.15
/// more.
pub const STRONG_MNEST_PERMILLE: u16 = 550;

/// Why the Laws cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LawsError {
    /// Not TOML, or not laws.
    #[error("prompts/laws.toml: {0}")]
    Syntax(#[from] Box<toml::de::Error>),
    /// A glob that is none.
    #[error("prompts/laws.toml: «{glob}» is no glob")]
    Glob {
        /// The text.
        glob: String,
    },
}

/// The Laws.
#[derive(Clone, Debug)]
pub struct Laws {
    laws: Vec<(Law, Globs)>,
}

/// What a Law's globs are compiled to.
#[derive(Clone, Debug)]
struct Globs {
    targets: Vec<Regex>,
    /// Of each of its commands: programs, lines, words, feeding programs.
    commands: Vec<[Vec<Regex>; 4]>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    law: Vec<Law>,
}

/// One Law: a name, a test, and a reason in both languages.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Law {
    name: String,
    rule: String,
    check: Test,
    about: Vec<String>,
    #[serde(default)]
    verbs: Vec<String>,
    #[serde(default)]
    objects: Vec<String>,
    #[serde(default)]
    targets: Vec<String>,
    #[serde(default)]
    capabilities: Vec<String>,
    #[serde(default)]
    commands: Vec<Line>,
    reason: Reason,
}

/// A kind of command line; what is absent always holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    /// One of these starts.
    #[serde(default)]
    programs: Vec<String>,
    /// As one of these is typed.
    #[serde(default)]
    lines: Vec<String>,
    /// It is given one of these switches.
    #[serde(default)]
    flags: Vec<String>,
    /// And one of these words.
    #[serde(default)]
    words: Vec<String>,
    /// And none of these switches.
    #[serde(default)]
    unless: Vec<String>,
    /// And a word that stands for at least so much.
    #[serde(default)]
    wide: Option<Wide>,
    /// The last word does not count, since that is only where things go.
    #[serde(default)]
    but_last: bool,
    /// And reads what one of these writes, or is made of it.
    #[serde(default)]
    fed_by: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Test {
    CorePath,
    ProtectedTree,
    Command,
    Match,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reason {
    en: String,
    it: String,
}

/// What the guard looks at.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// `call` or `effects`.
    pub about: &'a str,
    /// The executor.
    pub tool: &'a str,
    /// The names of the capabilities that the executor declares.
    pub capabilities: &'a [&'a str],
    /// Canonical paths.
    pub paths: &'a [String],
    /// What it would start.
    pub commands: &'a [Command],
    /// The person's home folder.
    pub home: &'a str,
    /// The instance's own folders.
    pub own: &'a OwnDirs,
}

/// What the guard forbids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// `law.rule`, with the core rule's name where there is one.
    pub rule: String,
    /// Why, in the turn's language.
    pub reason: String,
}

impl Laws {
    /// The Laws that this binary was built with.
    pub fn embedded() -> Self {
        Self::parse(include_str!("../../../prompts/laws.toml")).expect("the embedded Laws are parsed by a test")
    }

    /// Reads Laws.
    pub fn parse(text: &str) -> Result<Self, LawsError> {
        let file: File = toml::from_str(text).map_err(Box::new)?;
        let compiled = |law: Law| {
            let globs = law.globs()?;
            Ok((law, globs))
        };
        Ok(Self { laws: file.law.into_iter().map(compiled).collect::<Result<_, LawsError>>()? })
    }

    /// Applies the Laws; the first that forbids is named.
    pub fn guard(&self, subject: Subject<'_>, language: Language) -> Option<Blocked> {
        self.laws.iter().find_map(|(law, globs)| {
            if !law.about.iter().any(|about| about == subject.about) {
                return None;
            }
            let (target, detail) = law.offended(globs, subject)?;
            let template = match language {
                Language::En => &law.reason.en,
                Language::It => &law.reason.it,
            };
            let reason =
                messages::fill(template, serde_json::json!({ "target": target })).unwrap_or_else(|_| law.rule.clone());
            let rule =
                format!("{}.{}{}", law.name, law.rule, detail.map(|detail| format!(".{detail}")).unwrap_or_default());
            Some(Blocked { rule, reason })
        })
    }
}

impl Law {
    fn globs(&self) -> Result<Globs, LawsError> {
        let all = |words: &[String]| words.iter().map(|word| pattern(word)).collect::<Result<Vec<_>, _>>();
        let line = |line: &Line| Ok([all(&line.programs)?, all(&line.lines)?, all(&line.words)?, all(&line.fed_by)?]);
        Ok(Globs {
            targets: self.targets.iter().map(|glob| compile(glob)).collect::<Result<_, _>>()?,
            commands: self.commands.iter().map(line).collect::<Result<_, LawsError>>()?,
        })
    }

    fn offended<'s>(&self, globs: &Globs, subject: Subject<'s>) -> Option<(Cow<'s, str>, Option<&'static str>)> {
        let verb = shape::verb(subject.tool);
        let object = shape::object(subject.tool).unwrap_or_default();
        if !(self.verbs.is_empty() || self.verbs.iter().any(|name| name == verb)) {
            return None;
        }
        if !(self.objects.is_empty() || self.objects.iter().any(|name| name == object)) {
            return None;
        }
        if !(self.capabilities.is_empty()
            || self.capabilities.iter().any(|name| subject.capabilities.contains(&&**name)))
        {
            return None;
        }
        let of_path = |path: &'s String, rule| (Cow::Borrowed(path.as_str()), rule);
        match self.check {
            Test::CorePath => subject.paths.iter().find_map(|path| {
                core_paths::forbidden(path, subject.home, subject.own).map(|rule| of_path(path, Some(rule)))
            }),
            Test::ProtectedTree => subject
                .paths
                .iter()
                .find_map(|path| core_paths::protected_from_change(path).map(|rule| of_path(path, Some(rule)))),
            Test::Command => subject
                .commands
                .iter()
                .find(|command| {
                    self.commands.iter().zip(&globs.commands).any(|(line, g)| line.is(command, g, subject.home))
                })
                .map(|command| (Cow::Owned(in_short(&command.said())), None)),
            Test::Match if globs.targets.is_empty() => Some((Cow::Borrowed(subject.tool), None)),
            Test::Match => subject
                .paths
                .iter()
                .find(|path| globs.targets.iter().any(|glob| glob.is_match(path)))
                .map(|path| of_path(path, None)),
        }
    }
}

impl Line {
    fn is(&self, command: &Command, [programs, lines, words, fed_by]: &[Vec<Regex>; 4], home: &str) -> bool {
        let any =
            |globs: &[Regex], names: &[String]| names.iter().any(|name| globs.iter().any(|glob| glob.is_match(name)));
        (programs.is_empty() || programs.iter().any(|glob| glob.is_match(&command.program)))
            && (lines.is_empty() || lines.iter().any(|glob| glob.is_match(&command.said())))
            && !self.unless.iter().any(|flag| command.has_flag(flag))
            && (self.flags.is_empty() || self.flags.iter().any(|flag| command.has_flag(flag)))
            && (words.is_empty() || any(words, &command.words))
            && self.wide.is_none_or(|least| command.width(home, self.but_last) >= least)
            && (fed_by.is_empty() || any(fed_by, &command.fed_by))
    }
}

/// A command line as far as a sentence has room for it.
fn in_short(text: &str) -> String {
    match text.char_indices().nth(COMMAND_CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// `**` is any number of segments, `*` a part of one.
fn compile(glob: &str) -> Result<Regex, LawsError> {
    let pattern: String =
        regex_lite::escape(glob).replace(r"\*\*/", "(?:.*/)?").replace(r"/\*\*", "(?:/.*)?").replace(r"\*", "[^/]*");
    Regex::new(&format!("(?s)^{pattern}$")).map_err(|_| LawsError::Glob { glob: glob.to_owned() })
}

/// Of the words of a command line: `*` is any part of one.
fn pattern(word: &str) -> Result<Regex, LawsError> {
    let pattern = regex_lite::escape(word).replace(r"\*", ".*");
    Regex::new(&format!("(?s)^{pattern}$")).map_err(|_| LawsError::Glob { glob: word.to_owned() })
}

/// What the judge weighs.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is one line of the design's table of weights")]
pub struct Signs {
    /// The request's words name the executor's verb or object.
    pub named: bool,
    /// No critical capability is declared and no effect needs one.
    pub harmless: bool,
    /// A target holds `..`.
    pub traversal: bool,
    /// Argument keys that the schema does not have.
    pub unusual_keys: bool,
    /// An acting verb that the request's words do not carry.
    pub unasked_act: bool,
    /// A target of untrusted origin.
    pub untrusted_target: bool,
    /// A target that takes in more than what was asked for.
    pub broader: bool,
    /// A strong mnest leads to it from an earlier step: it was done like this before.
    pub strong_mnest: bool,
}

/// The judge's score in thousandths: base 700 and the design's weights.
pub fn judge(signs: Signs) -> u16 {
    let weights = [
        (signs.named, 100),
        (signs.harmless, 50),
        (signs.strong_mnest, 50),
        (signs.traversal, -500),
        (signs.unusual_keys, -200),
        (signs.unasked_act, -300),
        (signs.untrusted_target, -300),
        (signs.broader, -200),
    ];
    let score: i32 = 700 + weights.iter().filter(|(holds, _)| *holds).map(|(_, weight)| weight).sum::<i32>();
    let most = i32::from(SCORE_MAX_PERMILLE);
    u16::try_from(score.clamp(0, most)).expect("clamped to what a score can be")
}

/// Whether a score is one that the judge approves with. What is no score at all approves nothing.
pub fn approves(score: u16) -> bool {
    (JUDGE_THRESHOLD_PERMILLE..=SCORE_MAX_PERMILLE).contains(&score)
}

/// Whether a verb passes the judge at once.
pub fn is_safe(tool: &str) -> bool {
    matches!(shape::category(tool), Some(Category::Emit | Category::Present))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::commands;

    fn guard(laws: &Laws, about: &str, path: &str) -> Option<String> {
        let own =
            OwnDirs { config: "/h/m/config".into(), data: "/h/m/data".into(), audit: "/h/m/workspace/.audit".into() };
        let paths = [path.to_owned()];
        let subject = Subject {
            about,
            tool: "write_files",
            capabilities: &[],
            paths: &paths,
            commands: &[],
            home: "/h",
            own: &own,
        };
        laws.guard(subject, Language::En).map(|blocked| blocked.rule)
    }

    /// What the guard says of the arguments of a program that runs others.
    fn of_command(args: &serde_json::Value) -> Option<String> {
        let manifest = toml::from_str(include_str!("../../../executors/create_processes/manifest.toml")).unwrap();
        let given = commands::given(&manifest, args).unwrap();
        let (home, own) = ("/home/o", OwnDirs::default());
        let named = given.commands.iter().flat_map(|command| command.paths(home));
        let paths: Vec<String> = named.chain(given.patterns.iter().filter_map(|p| p.core_path(home, &own))).collect();
        let subject = Subject {
            about: "call",
            tool: "create_processes",
            capabilities: &["code:exec"],
            paths: &[],
            commands: &given.commands,
            home,
            own: &own,
        };
        // What the line does says more than what it names.
        let laws = Laws::embedded();
        let of_commands = laws.guard(subject, Language::En);
        of_commands
            .or_else(|| laws.guard(Subject { paths: &paths, ..subject }, Language::En))
            .map(|blocked| blocked.rule)
    }

    #[test]
    fn commands_that_nobody_may_give_are_forbidden() {
        let cases = include_str!("vaglio/commands.tsv");
        for line in cases.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
            let (expected, text) = line.split_once('\t').expect("a rule and a command line");
            let expected = Some(expected).filter(|rule| *rule != "-").map(str::to_owned);
            assert_eq!(of_command(&json!({ "argv": ["sh", "-c", text] })), expected, "{text}");
            let words: Vec<&str> = text.split_whitespace().collect();
            // Nobody puts names in the place of a plain word.
            let is_of_shells = text.contains(['*', '?', '[', '{']) && line.starts_with("perimeter.core_path");
            if !is_of_shells && !text.contains(['|', '&', ';', '>', '<', '$', '`', '\'', '"', '(', '=', '\\']) {
                assert_eq!(of_command(&json!({ "argv": words })), expected, "{words:?}");
            }
        }
        let fed = json!({ "argv": ["dash"], "stdin": "rm -rf ~" });
        assert_eq!(of_command(&fed).as_deref(), Some("non_harm.destructive_command"));
        let counted = json!({ "argv": ["wc", "-l"], "stdin": "rm -rf ~" });
        assert_eq!(of_command(&counted), None, "what is only counted is no command");
    }

    #[test]
    fn the_laws_forbid_what_they_name() {
        let laws = Laws::embedded();
        assert!(guard(&laws, "call", "/h/.ssh/id").is_some_and(|rule| rule.starts_with("perimeter.core_path.")));
        assert!(guard(&laws, "effects", "/etc/hosts").is_some_and(|rule| rule.starts_with("non_harm.protected_tree")));
        assert_eq!(guard(&laws, "call", "/etc/hosts"), None);
        assert!(guard(&laws, "effects", "/h/m/workspace/executors/x/CURRENT").is_some());
        assert_eq!(guard(&laws, "effects", "/h/notes/a.txt"), None);
    }

    #[test]
    fn every_reason_can_be_said() {
        for (law, _) in Laws::embedded().laws {
            for reason in [law.reason.en, law.reason.it] {
                let said = messages::fill(&reason, serde_json::json!({ "target": "/x" })).unwrap();
                assert!(said.contains("/x"), "{said}");
            }
        }
    }

    #[test]
    fn the_judge_adds_up() {
        assert_eq!(judge(Signs::default()), 700);
        assert_eq!(judge(Signs { named: true, harmless: true, ..Signs::default() }), 850);
        assert_eq!(judge(Signs { strong_mnest: true, ..Signs::default() }), 750);
        let wide = Signs { unasked_act: true, broader: true, ..Signs::default() };
        assert_eq!(judge(wide), 200, "the folder of a file, and nobody asked for the act");
        let bad = Signs { traversal: true, unasked_act: true, untrusted_target: true, ..Signs::default() };
        assert_eq!(judge(bad), 0);
    }

    #[test]
    fn what_is_no_score_approves_nothing() {
        let approving: Vec<u16> =
            [0, 299, 300, 700, 1000, 1001, u16::MAX].into_iter().filter(|s| approves(*s)).collect();
        assert_eq!(approving, [300, 700, 1000]);
    }
}

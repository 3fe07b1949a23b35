//! Whether a sentence asks for an act at all, and for now: no question about it, no statement that somebody does it or did
//! it, no act that stands for something else, none for another time.
//!
//! It looks at the words before the act within its clause, and knows no sentence. What it does not recognise as a request is
//! asked about; readings are none of its business.

use super::super::items::{Item, What};
use super::super::lexicon::{Cue, Request, Sense};
use super::super::tools::Indexed;
use super::Builder;

/// A folded word and the item that it belongs to.
type Token = (String, usize);

impl Builder<'_> {
    /// An item that speaks against a request, where the plan acts by this executor.
    pub(super) fn no_request(&self, tool: &Indexed) -> Option<usize> {
        if matches!(tool.verb.as_str(), "run" | "toggle" | "pause" | "resume") || self.is_command_line() {
            return None;
        }
        let end = self.body_starts(tool);
        if tool.verb == "schedule" {
            return None;
        }
        let act = self.act_said(tool, end);
        let Some(act) = act else { return self.asked_without_act(tool) };
        let from = self.clause_start(act);
        let before = self.tokens(from..act);
        let wished = self.has_phrase(&before, |r| &r.wishes) || self.items[from..act].iter().any(|i| i.is(Cue::Polite));
        // «cancellerei», «che pdf cancelleresti»; «mi cancelleresti» asks for it.
        let listens = act.checked_sub(1).is_some_and(|b| self.items[b].is(Cue::Listener));
        if super::acting::is_hypothetical(&self.items[act].folded) && !listens {
            return Some(act);
        }
        // «si possono cancellare …?»: the phrase itself asks.
        let asked = self.items.iter().any(|i| i.what == What::Punctuation('?'));
        if asked && !wished && self.begins(&self.without_fillers(&self.tokens(from..act + 1)), |r| &r.asks) {
            return Some(act);
        }
        let due = self.items[act].verb().is_none() && self.items[act].past().is_some();
        if due {
            // «the pdfs were moved»: done, and not wanted, unless a word says that it should be.
            let wanted = self.items[..act].iter().any(|i| i.is(Cue::Due));
            let asks = self.begins(&self.tokens(0..act), |r| &r.asks) && !wished;
            return (!wanted || asks).then_some(act);
        }
        if wished {
            return None;
        }
        if self.begins(&self.without_fillers(&before), |r| &r.asks) {
            return Some(from);
        }
        // «i pdf» are no «I»: an article tells nothing.
        let plain: Vec<Token> = before.iter().filter(|(_, at)| !self.items[*at].is(Cue::Determiner)).cloned().collect();
        if let Some(at) = self.find_phrase(&plain, |r| &r.tellers) {
            return Some(at);
        }
        let last = before.last().map(|(word, _)| word.clone()).unwrap_or_default();
        let infinitive = self.lexicons.request.iter().any(|r| r.infinitives.contains(&last));
        if infinitive && before.len() > 1 {
            return Some(act);
        }
        // «Bob moved it»: whose name stands right before the act does it.
        act.checked_sub(1).filter(|&b| b >= from).filter(|&b| {
            let item = &self.items[b];
            let led = b.checked_sub(1).is_some_and(|l| self.items[l].is(Cue::Into));
            let name = item.is_unknown() && self.said(b..b + 1).starts_with(char::is_uppercase);
            !led && (name && act - from > 0 || item.is(Cue::People))
        })
    }

    /// «rm -rf x», «mv ~/a ~/b»: what is typed as for a shell is a request by its form.
    pub(super) fn is_command_line(&self) -> bool {
        const COMMANDS: [&str; 9] = ["rm", "mv", "mkdir", "tar", "zip", "gzip", "touch", "echo", "rmdir"];
        let mut words = self.text.split_whitespace();
        let command = words.next().is_some_and(|w| COMMANDS.contains(&w));
        command && words.next().is_some_and(|w| w.starts_with(['-', '~', '/', '.', '"', '\'', '$']))
    }

    /// Where the text of a message or of a file begins: what it says is none of this.
    pub(super) fn body_starts(&self, tool: &Indexed) -> usize {
        let step = self.steps.iter().find(|s| self.tools.indexed(&s.tool).is_some_and(|t| t.verb == tool.verb));
        let text = step.and_then(|s| s.args.get("body").or_else(|| s.args.get("content"))).and_then(|v| v.as_str());
        let text = text.filter(|t| !t.contains("{{") && !t.is_empty());
        let quoted = |i: &Item| matches!((&i.what, text), (What::Quoted(said), Some(text)) if said == text);
        if let Some(at) = self.items.iter().position(quoted) {
            return at;
        }
        let place = text.and_then(|t| self.text.rfind(t));
        place.map_or(self.items.len(), |start| {
            self.items.iter().position(|i| i.start >= start).unwrap_or(self.items.len())
        })
    }

    /// The words of these items; what is lifted is a bar that no phrase reads across.
    fn tokens(&self, range: std::ops::Range<usize>) -> Vec<Token> {
        let mut tokens = Vec::new();
        for at in range {
            let item = &self.items[at];
            match item.what {
                What::Word(_) | What::Window { .. } | What::Number(_) => {
                    tokens.extend(item.folded.split(' ').map(|w| (w.to_owned(), at)));
                }
                _ => tokens.push(("\0".to_owned(), at)),
            }
        }
        tokens
    }

    /// An item of a phrase outside of what is quoted or told.
    pub(super) fn phrase_said(&self, tool: &Indexed, of: impl Fn(&Request) -> &Vec<String>) -> Option<usize> {
        let end = self.body_starts(tool);
        let mut tokens = self.tokens(0..end);
        tokens.extend(self.tokens(self.after_quote(end)));
        self.find_phrase(&tokens, of)
    }

    fn find_phrase(&self, tokens: &[Token], of: impl Fn(&Request) -> &Vec<String>) -> Option<usize> {
        let reads = |phrase: &String, at: usize| {
            let words: Vec<&str> = phrase.split([' ', '\'']).filter(|w| !w.is_empty()).collect();
            let said = |i: usize| tokens.get(at + i).map(|(w, _)| w.trim_end_matches('\''));
            (0..words.len()).all(|i| said(i) == Some(words[i]))
                || (words.len() == 2 && phrase.contains('\'') && said(0) == Some(phrase.as_str()))
        };
        (0..tokens.len())
            .find(|&at| self.lexicons.request.iter().any(|r| of(r).iter().any(|p| reads(p, at))))
            .map(|at| tokens[at].1)
    }

    fn has_phrase(&self, tokens: &[Token], of: impl Fn(&Request) -> &Vec<String>) -> bool {
        self.find_phrase(tokens, of).is_some()
    }

    fn begins(&self, tokens: &[Token], of: impl Fn(&Request) -> &Vec<String>) -> bool {
        let first = tokens.first().map(|(_, at)| *at);
        first.is_some() && self.find_phrase(&tokens[..tokens.len().min(3)], of) == first
    }

    /// «uh so which …»: without what only opens a clause.
    fn without_fillers(&self, tokens: &[Token]) -> Vec<Token> {
        let filler = |(word, at): &&Token| {
            let item = &self.items[*at];
            let asks = self.lexicons.request.iter().any(|r| r.asks.iter().any(|a| a.split(' ').next() == Some(word)));
            item.is_noise() && item.object().is_none() && !asks
        };
        tokens.iter().skip_while(filler).cloned().collect()
    }

    /// The item that names the act: the last verb of the executor's kind before the text.
    fn act_said(&self, tool: &Indexed, end: usize) -> Option<usize> {
        let of_kind = |v: usize| {
            let class = &self.class(v).verbs;
            class.contains(&tool.verb) || (self.acts(v) && class[0] != "run")
        };
        let noun = |at: usize| {
            let before = at.checked_sub(1).map(|b| &self.items[b]);
            before.is_some_and(|i| i.is(Cue::Determiner) && !i.is(Cue::Pronoun) || i.is(Cue::Last) || i.is(Cue::First))
        };
        let says = |at: &usize| {
            let item = &self.items[*at];
            let tells = tool.verb == "send" && item.is(Cue::Tells);
            let verb =
                tells || item.verb().is_some_and(of_kind) || item.past().is_some_and(of_kind) || item.is(Cue::Puts);
            verb && !noun(*at)
        };
        let kin = |at: &usize| self.items[*at].verb().is_some_and(|v| self.class(v).verbs.contains(&tool.verb));
        let verb = |at: &usize| self.items[*at].verb().is_some() || self.items[*at].is(Cue::Tells);
        let strong =
            |at: &usize| self.items[*at].verb().is_some_and(|v| !self.class(v).weak) && !self.items[*at].is_noise();
        (0..end)
            .filter(says)
            .rfind(kin)
            .or_else(|| (0..end).filter(says).rfind(verb))
            // «download … and tell me how many bytes were written»
            .or_else(|| (0..end).find(|at| strong(at) && !noun(*at)).filter(|_| tool.verb == "write"))
            .or_else(|| (0..end).rfind(says))
    }

    /// The first item of the clause that the act stands in.
    fn clause_start(&self, act: usize) -> usize {
        let bound = |i: &Item| {
            matches!(i.what, What::Punctuation(',' | ';' | '.' | ':' | '!' | '?'))
                || (i.is(Cue::Connector) && !i.is(Cue::Into))
        };
        self.items[..act].iter().rposition(bound).map_or(0, |at| at + 1)
    }

    /// Nothing names the act: a question or a noun with its article does not ask for it.
    fn asked_without_act(&self, tool: &Indexed) -> Option<usize> {
        let all = self.without_fillers(&self.tokens(0..self.items.len()));
        if self.begins(&all, |r| &r.asks) && !self.has_phrase(&all, |r| &r.wishes) {
            return Some(0);
        }
        // «I texted Bob …», «Bob told Anna …»: a verb that is not known as a request for it.
        if tool.verb == "send" {
            let person = (0..self.items.len()).find(|&at| at > 0 && self.items[at].is(Cue::Into)).unwrap_or(3);
            let lead = self.tokens(0..person.min(self.items.len()).min(4));
            let strange = (0..person.min(self.items.len()).min(3)).filter(|&at| self.items[at].is_unknown()).count();
            let told = self.find_phrase(&lead, |r| &r.tellers).is_some() || strange > 1;
            if told && !self.has_phrase(&all, |r| &r.wishes) && !self.items.iter().any(|i| i.is(Cue::Tells)) {
                return Some(0);
            }
        }
        (1..self.items.len()).find(|&at| {
            let definite = self.items[at - 1].is(Cue::Last) || self.items[at - 1].is(Cue::First);
            tool.verb == "send" && definite && self.names(&self.items[at], "messages")
        })
    }

    /// A time to come: «tomorrow», «at 5pm», «in ten minutes», «on friday», «every friday».
    pub(super) fn later(&self, tool: &Indexed, end: usize) -> Option<usize> {
        let quotes = |at: &usize| !matches!(self.items[*at].what, What::Quoted(_));
        let says_how = |at: &usize| self.says_how(*at);
        let rest = (0..end).chain(self.after_quote(end)).filter(quotes).filter(|at| !says_how(at));
        let rest: Vec<usize> = rest.collect();
        let mut tokens = Vec::new();
        for at in rest.iter().copied() {
            tokens.extend(self.tokens(at..at + 1));
        }
        let mut from = 0;
        while let Some(at) = self.find_phrase(&tokens[from..], |r| &r.later) {
            if !self.tells_why(at, tool) {
                return Some(at);
            }
            from = tokens.iter().position(|(_, item)| *item > at).unwrap_or(tokens.len());
        }
        let word = |i: usize| tokens.get(i).map_or("", |(w, _)| w.as_str());
        let period = |i: usize| {
            tokens.get(i).is_some_and(|(w, at)| {
                let whole = self.items[*at].senses().iter().any(|s| matches!(s, Sense::Period(_)));
                whole && self.items[*at].folded.split(' ').next_back() == Some(w)
            })
        };
        let count = |i: usize| word(i).parse::<u32>().is_ok() || self.counts(word(i));
        let clock = |i: usize| {
            let w = word(i);
            let digits = w.trim_end_matches(['a', 'p', 'm']);
            let hour = digits.split(':').next().and_then(|h| h.parse::<u8>().ok()).is_some_and(|h| h < 25);
            hour && (w.ends_with("am") || w.ends_with("pm") || w.contains(':'))
        };
        let timed = (0..tokens.len()).find(|&i| {
            let led = |of: fn(&Request) -> &Vec<String>| {
                self.lexicons.request.iter().any(|r| of(r).iter().any(|w| w == word(i)))
            };
            let at_hour = led(|r| &r.hours) && (count(i + 1) || clock(i + 1)) && !period(i + 2);
            (led(|r| &r.spans) && count(i + 1) && period(i + 2)) || clock(i) || at_hour
        });
        if let Some(i) = timed {
            return Some(tokens[i].1);
        }
        rest.into_iter().find(|&at| self.is_day_to_come(at))
    }

    /// Whether an item went into the plan as a setting: «delete it for ever», «cancella per sempre» say how, and not when.
    pub(super) fn says_how(&self, at: usize) -> bool {
        self.used[at] && self.items[at].senses().iter().any(|sense| matches!(sense, Sense::Setting(_)))
    }

    /// Whether a word that makes a request begins right there: «can you».
    pub(super) fn wishes_at(&self, at: usize) -> bool {
        let tokens = self.tokens(at..self.items.len().min(at + 3));
        self.find_phrase(&tokens, |r| &r.wishes) == Some(at)
    }

    /// Whether a time to come begins right there.
    pub(super) fn later_at(&self, at: usize) -> bool {
        let tokens = self.tokens(at..self.items.len().min(at + 3));
        self.find_phrase(&tokens, |r| &r.later) == Some(at)
    }

    /// «put it there, I have a talk tomorrow»: a clause of its own, with words of its own, that does not hold the act.
    fn tells_why(&self, at: usize, tool: &Indexed) -> bool {
        let bound = |i: &Item| {
            matches!(i.what, What::Punctuation(_)) || (i.is(Cue::Connector) && !i.is(Cue::Into)) || i.is(Cue::Relative)
        };
        let from = self.items[..at].iter().rposition(bound).map_or(0, |b| b + 1);
        let to = self.items[at..].iter().position(bound).map_or(self.items.len(), |b| at + b);
        let act = self.act_said(tool, self.items.len());
        let strange = self.items[from..to].iter().any(|i| i.is_unknown() || i.is(Cue::Doer));
        strange && !act.is_some_and(|act| (from..to).contains(&act))
    }

    fn counts(&self, word: &str) -> bool {
        crate::messages::Language::ALL
            .iter()
            .any(|&l| self.lexicons.senses_of(word, l).iter().any(|s| matches!(s, Sense::Number(_))))
    }

    /// What stands behind a text in quotes.
    pub(super) fn after_quote(&self, end: usize) -> std::ops::Range<usize> {
        match self.items.get(end).map(|i| &i.what) {
            Some(What::Quoted(_)) => end + 1..self.items.len(),
            _ => self.items.len()..self.items.len(),
        }
    }

    /// «on friday», «in december», «lunedì»: a day without a word that makes it the time of a file.
    pub(super) fn is_day_to_come(&self, at: usize) -> bool {
        if !matches!(self.items[at].what, What::Window { .. } | What::Word(_)) {
            return false;
        }
        let words = self.items[at].folded.clone();
        let named = words.split(' ').any(|w| {
            crate::messages::Language::ALL.iter().any(|&l| {
                let day = |s: &Sense| matches!(s, Sense::Weekday(_) | Sense::Month(_));
                w.len() > 2 && self.lexicons.senses_of(w, l).iter().any(day)
            })
        });
        if !named {
            return false;
        }
        let year = words.split(' ').any(|w| w.len() == 4 && w.parse::<u16>().is_ok_and(|y| (1970..3000).contains(&y)));
        let marked = |i: &Item| {
            [
                Cue::Modified,
                Cue::Since,
                Cue::Until,
                Cue::Older,
                Cue::Newer,
                Cue::Previous,
                Cue::From,
                Cue::Still,
                Cue::Ago,
            ]
            .iter()
            .any(|&cue| i.is(cue))
        };
        let led = at.checked_sub(1).map(|b| &self.items[b]);
        let leads = self.lexicons.request.iter().any(|r| {
            let first = words.split(' ').next().unwrap_or_default();
            let before = led.map_or("", |i| i.folded.as_str());
            r.days.iter().any(|d| d == first || d == before)
        });
        let within = words.split(' ').any(|w| {
            crate::messages::Language::ALL.iter().any(|&l| {
                self.lexicons.senses_of(w, l).iter().any(|s| {
                    matches!(
                        s,
                        Sense::Cue(
                            Cue::Modified
                                | Cue::Since
                                | Cue::Until
                                | Cue::Older
                                | Cue::Newer
                                | Cue::Previous
                                | Cue::From
                        )
                    )
                })
            })
        });
        leads || !(year || within || led.is_some_and(marked))
    }
}

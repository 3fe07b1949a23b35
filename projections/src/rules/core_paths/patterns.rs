//! Which core paths a pattern of a shell could stand for.
//!
//! As a shell reads them: a sign stands for no dot at the beginning of a name, and for no `/`.

use super::{ANYWHERE, OwnDirs, PLACES, is_within};

/// A part of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// This letter.
    Letter(char),
    /// One letter, whichever.
    One,
    /// Any letters, or none.
    Any,
}

/// A name of a path, or a pattern of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// As it was written.
    pub said: String,
    /// What it stands for.
    pub pieces: Vec<Piece>,
}

impl Segment {
    /// One that stands for itself.
    pub fn named(name: &str) -> Self {
        Self { said: name.to_owned(), pieces: name.chars().map(Piece::Letter).collect() }
    }

    /// Whether it could be a name, or, with `*` at its end, begin like one.
    fn could_be(&self, name: &str) -> bool {
        let (stem, is_open) = name.strip_suffix('*').map_or((name, false), |stem| (stem, true));
        if stem.starts_with('.') && self.pieces.first() != Some(&Piece::Letter('.')) {
            return false;
        }
        // How many of the pieces may be used up after each letter.
        let mut used = vec![false; self.pieces.len() + 1];
        used[0] = true;
        self.skip_any(&mut used);
        for letter in stem.chars() {
            let mut next = vec![false; used.len()];
            for (at, piece) in self.pieces.iter().enumerate().filter(|(at, _)| used[*at]) {
                match piece {
                    Piece::Letter(own) if *own != letter => {}
                    Piece::Letter(_) | Piece::One => next[at + 1] = true,
                    Piece::Any => next[at] = true,
                }
            }
            used = next;
            self.skip_any(&mut used);
        }
        if is_open { used.contains(&true) } else { used.last() == Some(&true) }
    }

    fn skip_any(&self, used: &mut [bool]) {
        for (at, piece) in self.pieces.iter().enumerate() {
            used[at + 1] |= used[at] && *piece == Piece::Any;
        }
    }

    /// A name that it could be, given what it could be.
    fn as_name(&self, name: &str) -> String {
        match name.strip_suffix('*') {
            Some(stem) if self.said.starts_with(stem) => self.said.clone(),
            Some(stem) => stem.to_owned(),
            None => name.to_owned(),
        }
    }
}

/// A path that [`super::forbidden`] forbids and that these names could be, from the root on.
pub fn could_be(segments: &[Segment], home: &str, own: &OwnDirs) -> Option<String> {
    // Some shells let a pattern stand for the folder above.
    let up = |segment: &Segment| if segment.could_be("..") { Segment::named("..") } else { segment.clone() };
    let upward: Vec<Segment> = segments.iter().map(up).collect();
    [segments, &upward].into_iter().find_map(|segments| of_lexical(&lexical(segments), home, own))
}

fn lexical(segments: &[Segment]) -> Vec<&Segment> {
    segments.iter().fold(Vec::new(), |mut whole, segment| {
        match segment.said.as_str() {
            ".." => drop(whole.pop()),
            "." => {}
            _ => whole.push(segment),
        }
        whole
    })
}

fn of_lexical(segments: &[&Segment], home: &str, own: &OwnDirs) -> Option<String> {
    let root = (!is_within(home, "/root")).then_some("/root");
    let places = PLACES.iter().map(|place| place.path).chain(root);
    let own = [&own.config, &own.data, &own.audit].into_iter().map(String::as_str).filter(|folder| !folder.is_empty());
    let names = |place: &'static str| place.split('/').skip(1).collect::<Vec<_>>();
    let at_root = places.map(names).find_map(|names| with(segments, 0, &names));
    let of_own =
        || own.map(|folder| folder.split('/').skip(1).collect::<Vec<_>>()).find_map(|names| with(segments, 0, &names));
    let anywhere = || {
        let starts = |rule: &super::Anywhere| (0..segments.len()).find_map(|at| with(segments, at, rule.segments));
        ANYWHERE.iter().find_map(starts)
    };
    at_root.or_else(of_own).or_else(anywhere)
}

/// The path with these names at a place of it, if they could stand there.
fn with(segments: &[&Segment], at: usize, names: &[&str]) -> Option<String> {
    let there = segments.get(at..)?.get(..names.len())?;
    there.iter().zip(names).all(|(segment, name)| segment.could_be(name)).then(|| {
        let chosen = there.iter().zip(names).map(|(segment, name)| segment.as_name(name));
        let before = segments[..at].iter().map(|segment| segment.said.clone());
        let behind = segments[at + names.len()..].iter().map(|segment| segment.said.clone());
        before.chain(chosen).chain(behind).fold(String::new(), |path, name| path + "/" + &name)
    })
}

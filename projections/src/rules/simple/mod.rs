//! Placeholder until the planner lands.
use crate::{manifest::Manifest, messages::{Language, Messages}, plan::Plan};
use serde_json::Value;
#[derive(Clone, Debug)] pub struct Lexicons;
impl Lexicons { pub fn embedded() -> Self { Self } }
#[derive(Clone, Debug)] pub struct Tool { pub manifest: Manifest, pub input: Value }
#[derive(Clone, Debug)] pub struct Tools;
impl Tools { pub fn new(_: Vec<Tool>) -> Self { Self } }
pub struct Facts<'a> { pub now_us: i64, pub zone: &'a str, pub home: &'a str, pub cwd: &'a str, pub language: Option<Language>, pub existing: &'a [(u32,u32)] }
pub struct Candidate { pub tool: String, pub score: u32 }
pub struct Proposal { pub language: Language, pub plan: Plan, pub candidates: Vec<Candidate>, pub k: u16, pub ranking_permille: u16 }
pub fn propose(_: &Lexicons, _: &Tools, _: &Messages, _: &Facts<'_>, _: &str) -> Proposal { unreachable!() }
pub fn candidates_for_existing(_: &str) -> Vec<(u32,u32)> { vec![] }
pub struct StepResult { pub tool: String, pub args: Value, pub result: Value }
pub mod answer { use super::*;
 pub fn compose(_: &Messages, _: &Tools, _: Language, _: &Plan, _: &[StepResult]) -> String { unreachable!() }
 pub fn failure(_: &Messages, _: Language, _: &str, _: &Value, _: &str, _: &str) -> String { unreachable!() } }

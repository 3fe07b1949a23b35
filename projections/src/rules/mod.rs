//! The rules that Metnos decides by, as plain functions over values. No rule looks at the world by itself.

pub mod cage_plan;
pub mod core_paths;

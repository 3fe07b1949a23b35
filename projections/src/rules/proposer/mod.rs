//! What a model is asked when it proposes the steps of a turn: its prompt, the tools that it is offered, where the values of
//! its calls come from. Plain functions over the turn; how the bytes travel is known elsewhere.

pub mod claims;
pub mod observation;
pub mod offer;
pub mod origin;
pub mod prompts;
pub mod wire;

pub use prompts::Prompts;
pub use wire::{Answer, Call, Choice, Message, Offer, Request};

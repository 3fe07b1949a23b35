//! The small fixed roles that words play, by the names of `[cues]` in the lexicons.

use serde::Deserialize;

/// A small fixed role that a word plays in a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Cue {
    /// «containing»: text to look for follows.
    Contains,
    /// «named»: a file's name follows.
    Named,
    /// «larger than».
    MinSize,
    /// «smaller than».
    MaxSize,
    /// «since», «after».
    Since,
    /// «until», «before».
    Until,
    /// «older than» a span of time.
    Older,
    /// «newer than» a span of time.
    Newer,
    /// «… ago».
    Ago,
    /// «modified»: speaks of a file's time.
    Modified,
    /// «this» week.
    This,
    /// «last» week.
    Previous,
    /// «to», «into»: a target may follow.
    Into,
    /// «in», «under»: a place follows.
    Inside,
    /// «from», «of».
    From,
    /// «to» between two numbers.
    Through,
    /// The first ones.
    First,
    /// The last ones.
    Last,
    /// «how many».
    HowMany,
    /// «only».
    Only,
    /// A field's name follows.
    Field,
    /// «not», «without».
    Not,
    /// «it», «them»: stands for what was named or produced before.
    Pronoun,
    /// «and», «then».
    Connector,
    /// «the», «a»: what follows is a noun.
    Determiner,
    /// «all», «every».
    Every,
    /// The folder of the conversation.
    Here,
    /// «today».
    Today,
    /// «yesterday».
    Yesterday,
    /// «largest», «newest»: an order that a sorting executor makes.
    Superlative,
    /// «if», «every morning»: the act depends on something or recurs.
    Condition,
    /// «did you», «should I»: asks about an act instead of wanting it.
    Asking,
    /// «me»: who is told.
    Listener,
    /// «starting with»: the beginning of a line or a name follows.
    Begins,
    /// «ending with»: the end of a line or a name follows.
    Ends,
    /// «the letter», «the word»: what follows is text, whatever else it may mean.
    Spelled,
    /// «from» line 2, line 2 «onwards»: the rest is meant.
    Onwards,
    /// «before», «after»: a place beside the one that is named.
    Beside,
    /// «between»: joins two numbers into a range.
    Between,
    /// «empty», «odd», «the same»: narrows or compares in a way that nothing here honours.
    Restriction,
    /// «by», «per»: the field of an order or of groups follows.
    By,
    /// «for each», «grouped by»: the field of groups follows.
    Grouped,
    /// «largest first»: the order goes down.
    Descending,
    /// «smallest first»: the order goes up.
    Ascending,
    /// «the column»: a column's name stands beside it.
    Column,
    /// «where», «whose»: a condition on a field follows.
    Where,
    /// «is», «equal to»: the value of a condition follows.
    Equal,
    /// «duplicates», «the same photo twice»: copies of one content.
    Duplicate,
    /// «what is the difference»: two things are compared.
    Difference,
    /// «run the command»: what follows is a command line.
    Command,
    /// «as a table»: how entries are shown.
    Table,
    /// «eating», «hogging»: a process takes of what follows.
    Consumes,
    /// «put»: what is put into a folder is moved there.
    Puts,
    /// «tidy up», which of what was found means an order.
    Arranges,
    /// «listed in»: names that stand in a file.
    ListedIn,
    /// «fammi»: makes what its object says.
    Makes,
    /// «new», «recent»: an adjective of time.
    Fresh,
    /// «spend»: a total of what follows.
    Spends,
    /// «should I», «later», «a bad idea»: no request, whatever act is named.
    Unasked,
    /// «may I», «devo»: no request where the sentence asks.
    Wonders,
    /// «was», «they»: at the beginning, tells of an act.
    Reports,
    /// «some», «other»: not all of them.
    Partial,
    /// «I mean», «anzi»: takes back what was said before.
    Retracts,
    /// «or»: which of two is meant is left open.
    Choice,
    /// «would you»: a request in the form of a question.
    Polite,
    /// «I», «you have»: who did what follows.
    Doer,
    /// «least»: the order goes from the least of it.
    Least,
    /// «under»: what stands below the heading of a column.
    Beneath,
    /// «Dr.»: opens a name.
    Title,
    /// «something»: stands for a text or thing that is not said.
    Vague,
    /// «I no longer need»: what it is said of may go, when a verb says so too.
    Unwanted,
    /// «the regex»: a regular expression follows.
    Regex,
    /// «my sister»: a person without a name.
    People,
    /// «the originals»: one of each among copies.
    Originals,
    /// «the copies»: all but one of each.
    Copies,
    /// «tell», «let … know»: a person and what is told follow.
    Tells,
    /// «that», «saying»: what is told follows.
    Saying,
    /// «every», «tutti i»: what follows comes round again.
    Recurring,
    /// «daily»: comes round again, in one word.
    Cadence,
    /// «running»: speaks of processes.
    Running,
    /// «the last thing you did»: speaks of acts of Metnos itself.
    OwnAct,
    /// «until», «by»: the day that is named still belongs to the window.
    Inclusive,
    /// «both»: two texts follow that must each be there.
    Both,
    /// «on top»: what has most of it comes first.
    Ahead,
    /// «starting with»: an order begins with what follows.
    Starting,
    /// «the contents of»: what is inside of it and not the thing.
    Contents,
    /// «at»: the path that follows is the thing's own, not the place that it is in.
    OwnPlace,
    /// «than»: what something is held against follows.
    Than,
    /// «percentage»: one figure as a part of another.
    Share,
    /// «as»: the column that holds a value follows.
    As,
    /// «should be», «I'd like»: what is done is wanted, though it is said as if it were done.
    Due,
    /// «that says»: text that a line holds follows.
    Says,
    /// «keep»: it is left as it is.
    Keeps,
    /// «clear out»: what is inside of it goes, not it.
    Empties,
    /// «60 days old»: ends a span of time that is an age.
    Aged,
    /// «untouched», «fermo»: nothing changed since what follows.
    Still,
    /// «does», «ha»: what holds something follows.
    Has,
    /// «tiny»: an adjective of size, that a bound beside it says in bytes.
    Sized,
    /// «that», «which»: a clause that tells which of them follows.
    Relative,
    /// «copy», «replace»: the thing stays, or part of it changes.
    Copying,
}

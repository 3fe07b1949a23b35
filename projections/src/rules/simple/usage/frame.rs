//! The frame of a plan: its executors and the few settings that tell pipelines of one kind apart.

use serde_json::Value;

use crate::plan::PlannedStep;

/// The frame of planned steps, as `prompts/usage.tsv` writes it; «none» for no steps.
pub(crate) fn frame_of(steps: &[PlannedStep]) -> String {
    let mut frame: Vec<String> = Vec::new();
    for step in steps {
        let has = |name: &str| step.args.get(name).is_some();
        let is = |name: &str, value: &str| step.args.get(name).is_some_and(|v| v == value);
        let mut parts = match step.tool.as_str() {
            // They show or pick out of what is there already.
            "extract_entries" | "describe_entries" | "render_entries" => continue,
            "list_dirs" => vec!["find_files".to_owned()],
            "find_files" if is("kind", "dir") => vec!["find_dirs".to_owned()],
            "delete_dirs" => vec!["delete_files".to_owned()],
            "read_urls_html" if !(is("what", "links") || is("what", "title") || is("what", "tables")) => {
                vec!["get_urls".to_owned()]
            }
            "filter_entries" if frame.as_slice() == ["get_processes"] => continue,
            "filter_texts_lines" if !(has("substring") || has("regex")) => {
                let end = if has("range") {
                    "range"
                } else if has("tail") {
                    "tail"
                } else {
                    "head"
                };
                if let Some(read) = frame.last_mut().filter(|f| f.starts_with("read_files")) {
                    read.push(' ');
                    read.push_str(end);
                    continue;
                }
                vec!["filter_texts_lines".to_owned()]
            }
            tool => vec![tool.to_owned()],
        };
        match step.tool.as_str() {
            "read_urls_html" if parts[0] == "read_urls_html" => {
                parts.push(format!("what={}", step.args["what"].as_str().unwrap_or_default()));
            }
            "read_files" => {
                parts.extend(has("head_lines").then(|| "head".to_owned()));
                parts.extend(has("tail_lines").then(|| "tail".to_owned()));
                parts.extend(has("range").then(|| "range".to_owned()));
            }
            "sort_entries" => {
                parts.push(by(&step.args["by"]));
                let down = step.args.get("desc") == Some(&Value::Bool(true));
                parts.push(if down { "desc" } else { "asc" }.to_owned());
                parts.extend(has("top").then(|| "top".to_owned()));
            }
            "compute_entries" => {
                parts.push(format!("op={}", step.args["op"].as_str().unwrap_or_default()));
                parts.extend(is("key", "size").then(|| "key=size".to_owned()));
            }
            "write_files" => parts.extend(is("mode", "append").then(|| "append".to_owned())),
            _ => {}
        }
        frame.push(parts.join(" "));
    }
    if frame.is_empty() { "none".to_owned() } else { frame.join(" > ") }
}

fn by(value: &Value) -> String {
    let name = value.as_str().or_else(|| value.get(0)?.as_str()).unwrap_or_default();
    match name {
        "size" | "name" | "modified" | "memory" | "cpu" => format!("by={name}"),
        _ => "by".to_owned(),
    }
}

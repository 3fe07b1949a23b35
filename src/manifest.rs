//! Reads `manifest.toml`: fields by type, then coherence; every refusal names file, line and column and shows the line.

use metnos_projections::manifest::Manifest;
use metnos_projections::rules::{policy, shape};

use crate::located::Located;

/// The closed list of error classes (design 3-executors, «Host protocol»).
pub const ERROR_CLASSES: &[&str] = &[
    "invalid_args",
    "not_found",
    "permission_denied",
    "policy_violation",
    "vaglio_guard",
    "vaglio_judge",
    "consent_denied",
    "consent_expired",
    "too_large",
    "timeout",
    "cancelled",
    "budget_exceeded",
    "network",
    "dns_error",
    "forbidden",
    "rate_limited",
    "unauthorized",
    "no_credentials",
    "auth_required",
    "missing_input",
    "wrong_type",
    "unparseable",
    "resource_unavailable",
    "dependency_unavailable",
    "binary_missing",
    "operation_failed",
    "contract_violation",
    "non_json",
    "crashed",
    "cage_refused",
    "signature_invalid",
    "lock_mismatch",
    "quarantined",
    "archived",
    "idempotency_conflict",
    "target_changed",
    "not_applicable",
    "not_reversible",
    "device_offline",
    "tool_unknown",
    "internal_error",
    "needs_data_source",
    "needs_action_target",
    "needs_content_fetch",
    "pipeline_already_closed",
];

/// What Metnos says of a call, and no executor: who decided, or that it never ran.
pub const OWN_CLASSES: &[&str] = &[
    "archived",
    "budget_exceeded",
    "cage_refused",
    "cancelled",
    "device_offline",
    "idempotency_conflict",
    "internal_error",
    "lock_mismatch",
    "needs_action_target",
    "needs_data_source",
    "not_applicable",
    "pipeline_already_closed",
    "quarantined",
    "signature_invalid",
    "target_changed",
    "tool_unknown",
];

/// How long the longest answer may be: one that says why nothing was done fits, and the log keeps no text that is longer.
const OUTPUT_BYTES: std::ops::RangeInclusive<u64> = 64..=1 << 30;

/// The longest name of an executor, in bytes: with a version below it, it is still the name of a folder anywhere.
const NAME_BYTES_MAX: usize = 64;

/// Reads and checks a manifest; `file` is how errors name it.
pub fn parse(file: &str, text: &str) -> Result<Manifest, Located> {
    let manifest: Manifest = toml::from_str(text).map_err(|error| Located::toml(file, text, &error))?;
    match fault(&manifest) {
        None => Ok(manifest),
        Some((section, key, message)) => Err(Located::at(file, text, locate(text, section, key), &message)),
    }
}

/// The byte at which `key` stands in `[section]`, or the section, or the beginning.
fn locate(text: &str, section: &str, key: &str) -> usize {
    let (mut offset, mut inside, mut found) = (0, section.is_empty(), 0);
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim();
        if trimmed.starts_with('[') {
            inside = trimmed.trim_matches(['[', ']']) == section;
            if inside && found == 0 {
                found = offset;
            }
        } else if inside && trimmed.split('=').next().is_some_and(|name| name.trim().trim_matches('"') == key) {
            return offset;
        }
        offset += line.len();
    }
    found
}

type Fault<'a> = (&'a str, &'a str, String);

/// What types cannot say: vocabulary, capabilities, error classes, versions, arguments that capabilities name.
fn fault(manifest: &Manifest) -> Option<Fault<'_>> {
    identity_fault(manifest).or_else(|| contract_fault(manifest)).or_else(|| capability_fault(manifest))
}

fn identity_fault(manifest: &Manifest) -> Option<Fault<'_>> {
    let identity = &manifest.executor;
    if identity.name.len() > NAME_BYTES_MAX {
        let message = format!(
            "a name has at most {NAME_BYTES_MAX} characters, and this one has {}",
            identity.name.chars().count()
        );
        return Some(("executor", "name", message));
    }
    if !shape::in_vocabulary(&identity.name) {
        return Some((
            "executor",
            "name",
            format!("`{}` is not verb_object[_qualifier] from the vocabulary", identity.name),
        ));
    }
    if let Some(message) = version_fault(&identity.version) {
        return Some(("executor", "version", message));
    }
    if identity.created_at.parse::<jiff::Timestamp>().is_err() {
        return Some((
            "executor",
            "created_at",
            format!("`{}` is not a time like 2026-11-21T00:00:00Z", identity.created_at),
        ));
    }
    if !matches!(identity.created_by.as_str(), "seed" | "owner") && !identity.created_by.starts_with("synt:") {
        return Some((
            "executor",
            "created_by",
            format!("`{}` is none of seed, owner, synt:<run id>", identity.created_by),
        ));
    }
    for (key, text) in [("en", &manifest.description.en), ("it", &manifest.description.it)] {
        if text.trim().is_empty() {
            return Some(("description", key, format!("the description in `{key}` is missing")));
        }
    }
    None
}

/// Why a version is none: three numbers, written as numbers are (semver.org, 2).
fn version_fault(version: &str) -> Option<String> {
    let parts: Vec<&str> = version.split('.').collect();
    let is_number = |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit()) && part.parse::<u64>().is_ok();
    if parts.len() != 3 || !parts.iter().all(is_number) {
        return Some(format!("`{version}` is not a version like 1.0.0"));
    }
    let padded = parts.iter().find(|part| part.len() > 1 && part.starts_with('0'))?;
    Some(format!("`{version}` is not a version like 1.0.0: `{padded}` begins with 0"))
}

fn contract_fault(manifest: &Manifest) -> Option<Fault<'_>> {
    let contract = &manifest.contract;
    if let Some(unknown) = contract.error_classes.iter().find(|class| !ERROR_CLASSES.contains(&class.as_str())) {
        return Some(("contract", "error_classes", format!("`{unknown}` is not one of the error classes")));
    }
    if let Some(reverse) = contract.reverse.as_ref().filter(|reverse| !shape::in_vocabulary(reverse)) {
        let message = format!("`{reverse}` is no executor's name: verb_object[_qualifier] from the vocabulary");
        return Some(("contract", "reverse", message));
    }
    for (key, reference) in [("input_schema", &contract.input_schema), ("output_schema", &contract.output_schema)] {
        if !reference.starts_with("schema.json#/definitions/") {
            return Some(("contract", key, format!("`{reference}` does not point into schema.json#/definitions/")));
        }
    }
    if contract.timeout_s == 0 || contract.timeout_s > 3600 {
        return Some(("contract", "timeout_s", "a timeout is 1 to 3600 seconds".to_owned()));
    }
    if contract.memory_mb < 16 || contract.memory_mb > 65_536 {
        return Some(("contract", "memory_mb", "memory is 16 to 65536 MiB".to_owned()));
    }
    if !OUTPUT_BYTES.contains(&contract.output_bytes_max) {
        let message = format!("an answer has {} to {} bytes", OUTPUT_BYTES.start(), OUTPUT_BYTES.end());
        return Some(("contract", "output_bytes_max", message));
    }
    None
}

fn capability_fault(manifest: &Manifest) -> Option<Fault<'_>> {
    for capability in &manifest.capabilities {
        if policy::registered(&capability.name).is_none() {
            return Some((
                "capabilities",
                "name",
                format!("`{}` is not a capability of the registry", capability.name),
            ));
        }
        let no_parser = |name: &&String| capability.name == "parse:local" && !policy::is_parser(name);
        if let Some(unknown) = capability.hint.iter().find(no_parser) {
            return Some(("capabilities", "hint", format!("`{unknown}` is not one of the known local parsers")));
        }
        if let Some(unknown) = capability.from_args.iter().find(|name| !manifest.arguments.contains_key(*name)) {
            return Some((
                "capabilities",
                "from_args",
                format!("argument `{unknown}` has no [arguments.{unknown}] table"),
            ));
        }
    }
    if manifest.sandbox.profile != "declared" {
        return Some(("sandbox", "profile", format!("there is no registered profile `{}`", manifest.sandbox.profile)));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = include_str!("../executors/get_now/manifest.toml");

    #[track_caller]
    fn refused(text: &str) -> Located {
        parse("manifest.toml", text).unwrap_err()
    }

    #[test]
    fn an_unknown_field_is_named_with_its_place_and_line() {
        let text = GOOD.replacen("summary =", "sumary =", 1);
        let error = refused(&text);
        assert!(error.text.starts_with("sumary ="), "{error}");
        assert!(error.message.contains("sumary") && error.line > 1 && error.column == 1, "{error}");
        assert!(error.to_string().contains(&format!("manifest.toml:{}:1: ", error.line)), "{error}");
    }

    #[test]
    fn names_are_verb_and_object_and_nothing_is_left_over() {
        for name in ["get_now_", "get__now", "_get_now", "get", "grab_now", "get_Now"] {
            let error = refused(&GOOD.replacen("name = \"get_now\"", &format!("name = \"{name}\""), 1));
            assert!(error.text.starts_with("name") && error.message.contains("verb_object"), "{name}: {error}");
        }
        let reversed = |name: &str| GOOD.replacen("[contract]\n", &format!("[contract]\nreverse = \"{name}\"\n"), 1);
        let error = refused(&reversed("whatever"));
        assert!(error.text.starts_with("reverse") && error.message.contains("no executor's name"), "{error}");
        assert!(parse("manifest.toml", &reversed("delete_files")).is_ok());
    }

    #[test]
    fn a_moment_may_be_a_date_of_toml() {
        let line = GOOD.lines().find(|line| line.starts_with("created_at =")).unwrap();
        let plain = GOOD.replacen(line, "created_at = 2026-11-21T00:00:00Z", 1);
        assert_eq!(parse("manifest.toml", &plain).unwrap().executor.created_at, "2026-11-21T00:00:00Z");
        for wrong in ["2026-11-21", "7", "{ year = 2026 }", "\"soon\""] {
            let error = refused(&GOOD.replacen(line, &format!("created_at = {wrong}"), 1));
            assert!(error.text.starts_with("created_at"), "{wrong}: {error}");
            assert!(error.message.contains("2026-") && !error.message.contains("$__"), "{wrong}: {error}");
        }
    }

    #[test]
    fn a_wrong_type_points_at_the_value() {
        let text = GOOD.replacen("idempotent = true", "idempotent = \"yes\"", 1);
        let error = refused(&text);
        assert!(error.text.contains("\"yes\"") && error.column > 10, "{error}");
    }

    #[test]
    fn what_types_cannot_say_is_refused_too() {
        for (from, to, key) in [
            ("name = \"get_now\"", "name = \"frob_now\"", "vocabulary"),
            ("version = \"1.0.0\"", "version = \"1\"", "version"),
            ("version = \"1.0.0\"", "version = \"01.0.0\"", "`01` begins with 0"),
            ("version = \"1.0.0\"", "version = \"1.00.0\"", "`00` begins with 0"),
            ("version = \"1.0.0\"", "version = \"1.0.99999999999999999999\"", "version"),
            ("output_bytes_max = 65536", "output_bytes_max = 0", "64 to 1073741824 bytes"),
            ("output_bytes_max = 65536", "output_bytes_max = 63", "64 to 1073741824 bytes"),
            ("output_bytes_max = 65536", "output_bytes_max = 1073741825", "64 to 1073741824 bytes"),
            ("output_bytes_max = 65536", "output_bytes_max = 9223372036854775807", "64 to 1073741824 bytes"),
            ("\"time:read\"", "\"time:travel\"", "registry"),
            ("profile = \"declared\"", "profile = \"all\"", "profile"),
        ] {
            assert!(GOOD.contains(from), "{from}");
            let error = refused(&GOOD.replacen(from, to, 1));
            assert!(error.message.contains(key), "{error}");
            assert!(error.text.contains(to.split('=').next_back().unwrap().trim()), "{error}");
        }
    }

    #[test]
    fn a_name_is_short_enough_to_be_read() {
        let named = |length: usize| {
            let name = format!("get_now_{}", "x".repeat(length - 8));
            GOOD.replacen("name = \"get_now\"", &format!("name = \"{name}\""), 1)
        };
        parse("manifest.toml", &named(64)).unwrap();
        for length in [65, 310] {
            let error = refused(&named(length));
            assert!(error.text.starts_with("name = \"get_now_x"), "{error}");
            assert!(
                error.message.contains("at most 64 characters") && error.message.contains(&length.to_string()),
                "{error}"
            );
        }
    }

    #[test]
    fn only_known_parsers_run_without_being_asked_for() {
        const PDF: &str = include_str!("../executors/read_files_pdf/manifest.toml");
        parse("manifest.toml", PDF).unwrap();
        let error = refused(&PDF.replacen("\"pdftotext\"", "\"pdftotext\", \"bash\"", 1));
        assert!(error.message.contains("`bash` is not one of the known local parsers"), "{error}");
    }

    #[test]
    fn broken_toml_says_where() {
        let error = refused("[executor]\nname = \"get_now\nversion = \"1.0.0\"\n");
        assert_eq!(error.line, 2, "{error}");
    }
}

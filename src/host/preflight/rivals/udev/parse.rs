//! Parses a file of udev rules as udev does: a line with anything wrong in it does nothing. Pure.

/// udev ignores longer rules.
const LONGEST: usize = 16 << 10;

/// `KEY{NAME}OP"VALUE"`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    pub key: String,
    pub name: String,
    pub operator: &'static str,
    pub value: String,
    pub ignores_case: bool,
    /// Where the value stands: a rule may have several lines.
    pub line: usize,
}

impl Token {
    pub fn is_condition(&self) -> bool {
        matches!(self.operator, "==" | "!=")
    }
}

#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its last line, by which udev names it.
    pub line: usize,
    /// In the order in which udev takes them.
    pub tokens: Vec<Token>,
    pub label: Option<String>,
    /// The rule, by its index in the file, that GOTO leads to.
    pub jump: Option<usize>,
}

/// The rules of a file that udev does not reject.
pub fn rules(text: &str) -> Vec<Rule> {
    let mut rules: Vec<(Rule, Option<String>)> = Vec::new();
    for joined in joined(text) {
        let Some(mut tokens) = tokens(&joined) else {
            continue;
        };
        let of = |key: &str, tokens: &[Token]| {
            let mut all = tokens.iter().filter(|token| token.key == key);
            let (first, last) = (all.next().cloned(), all.next_back().cloned());
            (first, last)
        };
        // The first GOTO and the last LABEL of several count.
        let target = of("GOTO", &tokens).0.map(|token| token.value);
        let (first, last) = of("LABEL", &tokens);
        let label = last.or(first).map(|token| token.value);
        tokens.retain(|token| token.key != "GOTO" && token.key != "LABEL");
        tokens.sort_by_key(rank);
        let rule = Rule {
            line: joined.last,
            tokens,
            label,
            jump: None,
        };
        rules.push((rule, target));
    }
    // Backwards: the nearest label that follows.
    let mut labels = std::collections::BTreeMap::new();
    for index in (0..rules.len()).rev() {
        let (rule, target) = &mut rules[index];
        rule.jump = target
            .as_ref()
            .and_then(|target| labels.get(target).copied());
        if let Some(label) = &rule.label {
            labels.insert(label.clone(), index);
        }
    }
    rules.into_iter().map(|(rule, _)| rule).collect()
}

/// A rule without its line breaks.
struct Joined {
    text: String,
    /// Where a line begins in the text, and its number.
    parts: Vec<(usize, usize)>,
    last: usize,
}

fn joined(text: &str) -> Vec<Joined> {
    let mut rules = Vec::new();
    let mut open: Option<Joined> = None;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_start();
        // Also within a rule that goes on.
        if line.starts_with('#') {
            continue;
        }
        let (part, continues) = match line.strip_suffix('\\') {
            Some(part) => (part, true),
            None => (line, false),
        };
        let rule = open.get_or_insert_with(|| Joined {
            text: String::new(),
            parts: Vec::new(),
            last: 0,
        });
        rule.parts.push((rule.text.len(), index + 1));
        rule.text.push_str(part);
        rule.last = index + 1;
        if !continues {
            rules.extend(open.take());
        }
    }
    // udev drops a rule that goes on after the end of the file.
    rules.retain(|rule| !rule.text.trim().is_empty() && rule.text.len() < LONGEST);
    rules
}

/// None: udev rejects the rule.
fn tokens(rule: &Joined) -> Option<Vec<Token>> {
    let text = &rule.text;
    let mut tokens = Vec::new();
    let mut at = 0;
    loop {
        let rest = text[at..].trim_start_matches([' ', '\t', '\r', '\n', ',']);
        if rest.is_empty() {
            return Some(tokens);
        }
        let start = text.len() - rest.len();
        let (token, length) = token(rest)?;
        let begin = rule.parts.iter().rev();
        // The value decides, not the key: a line may break between them.
        let value_at = start + length.saturating_sub(1);
        let line = begin
            .clone()
            .find(|(from, _)| *from <= value_at)
            .map_or(rule.last, |(_, line)| *line);
        tokens.push(Token {
            line,
            ..allowed(token)?
        });
        at = start + length;
    }
}

const OPERATORS: [&str; 6] = ["==", "!=", "+=", "-=", ":=", "="];

fn token(rest: &str) -> Option<(Token, usize)> {
    let end = rest.find([' ', '\t', '=', '{', '+', '-', '!', ':'])?;
    let key = &rest[..end];
    let mut after = &rest[end..];
    let mut name = "";
    if let Some(inside) = after.strip_prefix('{') {
        let close = inside.find('}')?;
        name = &inside[..close];
        after = &inside[close + 1..];
        if name.is_empty() {
            return None;
        }
    }
    let after = after.trim_start();
    let operator = OPERATORS.into_iter().find(|op| after.starts_with(op))?;
    let mut after = after[operator.len()..].trim_start();
    let (mut has_escapes, mut ignores_case) = (false, false);
    while let Some(prefix) = after.chars().next().filter(|c| matches!(c, 'e' | 'i')) {
        has_escapes |= prefix == 'e';
        ignores_case |= prefix == 'i';
        after = &after[1..];
    }
    let quoted = after.strip_prefix('"')?;
    let (value, length) = value(quoted, has_escapes)?;
    let used = rest.len() - quoted.len() + length;
    let token = Token {
        key: key.to_owned(),
        name: name.to_owned(),
        operator,
        value,
        ignores_case,
        line: 0,
    };
    Some((token, used))
}

/// The value up to its closing quotation mark, and the length with it.
fn value(quoted: &str, has_escapes: bool) -> Option<(String, usize)> {
    let mut value = String::new();
    let mut chars = quoted.char_indices();
    while let Some((index, c)) = chars.next() {
        match c {
            '"' => return Some((value, index + 1)),
            '\\' if has_escapes => match chars.next()?.1 {
                'n' => value.push('\n'),
                't' => value.push('\t'),
                other => value.push(other),
            },
            // Elsewhere only the quotation mark is taken out of its backslash.
            '\\' if quoted[index + 1..].starts_with('"') => {
                chars.next();
                value.push('"');
            }
            other => value.push(other),
        }
    }
    None
}

const SET_BY_UDEV: [&str; 12] = [
    "ACTION",
    "DEVLINKS",
    "DEVNAME",
    "DEVPATH",
    "DEVTYPE",
    "DRIVER",
    "IFINDEX",
    "MAJOR",
    "MINOR",
    "SEQNUM",
    "SUBSYSTEM",
    "TAGS",
];

/// None: the rule is rejected for it.
fn allowed(mut token: Token) -> Option<Token> {
    let (is_condition, has_name) = (token.is_condition(), !token.name.is_empty());
    let is_removal = token.operator == "-=";
    let fits = match token.key.as_str() {
        "ACTION" | "DEVPATH" | "KERNEL" | "SUBSYSTEM" | "DRIVER" | "KERNELS" | "SUBSYSTEMS"
        | "DRIVERS" | "TAGS" | "RESULT" => is_condition && !has_name,
        "ATTRS" | "CONST" => is_condition && has_name,
        "TEST" => is_condition && (!has_name || u32::from_str_radix(&token.name, 8).is_ok()),
        "ENV" => has_name && !is_removal && (is_condition || !SET_BY_UDEV.contains(&&*token.name)),
        "ATTR" | "SYSCTL" => has_name && !is_removal,
        "SYMLINK" | "TAG" => !has_name,
        "OPTIONS" | "OWNER" | "GROUP" | "MODE" => !has_name && !is_condition && !is_removal,
        "SECLABEL" => has_name && !is_condition && !is_removal,
        "NAME" | "PROGRAM" => !has_name && !is_removal,
        "IMPORT" => {
            const KINDS: [&str; 6] = ["file", "program", "builtin", "db", "cmdline", "parent"];
            !is_removal && KINDS.contains(&&*token.name)
        }
        "RUN" => matches!(&*token.name, "" | "program" | "builtin") && !is_condition && !is_removal,
        "GOTO" | "LABEL" => !has_name && token.operator == "=",
        _ => false,
    };
    if !fits {
        return None;
    }
    match token.key.as_str() {
        // Assigned, they are conditions all the same.
        "PROGRAM" | "IMPORT" if !is_condition => token.operator = "==",
        "ATTR" | "SYSCTL" if !is_condition => token.operator = "=",
        _ => {}
    }
    Some(token)
}

/// udev takes a rule's tokens in this order, however they are written.
fn rank(token: &Token) -> usize {
    const CONDITIONS: [&str; 19] = [
        "ACTION",
        "DEVPATH",
        "KERNEL",
        "SYMLINK",
        "NAME",
        "ENV",
        "CONST",
        "TAG",
        "SUBSYSTEM",
        "DRIVER",
        "ATTR",
        "SYSCTL",
        "KERNELS",
        "SUBSYSTEMS",
        "DRIVERS",
        "ATTRS",
        "TAGS",
        "TEST",
        "PROGRAM",
    ];
    const IMPORTS: [&str; 6] = ["file", "program", "builtin", "db", "cmdline", "parent"];
    const ASSIGNMENTS: [&str; 10] = [
        "OPTIONS", "OWNER", "GROUP", "MODE", "TAG", "SECLABEL", "ENV", "NAME", "SYMLINK", "ATTR",
    ];
    let place = |names: &[&str], name: &str| names.iter().position(|other| *other == name);
    match (token.key.as_str(), token.is_condition()) {
        ("IMPORT", _) => 20 + place(&IMPORTS, &token.name).unwrap_or(0),
        ("RESULT", _) => 30,
        (key, true) => place(&CONDITIONS, key).unwrap_or(19),
        // Programs come after all attributes.
        (key, false) => 40 + place(&ASSIGNMENTS, key).unwrap_or(ASSIGNMENTS.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Vec<Vec<String>> {
        let rules = rules(text).into_iter();
        rules
            .map(|rule| rule.tokens.into_iter().map(|token| token.key).collect())
            .collect()
    }

    #[test]
    fn a_line_with_anything_wrong_in_it_is_left_out() {
        for wrong in [
            r#"ACTION="add", ATTR{a}="1""#,
            r#"KERNEL{x}=="a", ATTR{a}="1""#,
            r#"NOTHING=="a", ATTR{a}="1""#,
            r#"ATTR{a}="1"#,
            r#"ATTR{}="1""#,
            r#"ATTR{a}-="1""#,
            r#"ENV{DEVNAME}="x", ATTR{a}="1""#,
            "ATTR{a}=1",
            "ATTR",
            "\"",
            "=\"\"",
            "a{=\"x",
            "é=\"é\"",
        ] {
            assert!(rules(wrong).is_empty(), "{wrong}");
        }
    }

    #[test]
    fn tokens_are_taken_in_the_order_of_udev() {
        let text = r#"RUN+="x", ATTR{a}="1", ENV{b}="2", TEST=="c", ATTR{d}=="3" KERNEL=="e""#;
        assert_eq!(
            keys(text),
            [["KERNEL", "ATTR", "TEST", "ENV", "ATTR", "RUN"]]
        );
    }

    #[test]
    fn a_value_has_the_line_on_which_it_stands() {
        let text = "KERNEL==\"a\", \\\n  # within\n  ATTR{a}=\"1\", \\\n ATTR{b}=\\\n\"2\"\n\nATTR{c}=\"3\\\"\"\n";
        let found = rules(text);
        let lines: Vec<(usize, Vec<usize>)> = found
            .iter()
            .map(|rule| {
                (
                    rule.line,
                    rule.tokens.iter().map(|token| token.line).collect(),
                )
            })
            .collect();
        assert_eq!(lines, [(5, vec![1, 3, 5]), (7, vec![7])]);
        assert_eq!(found[1].tokens[0].value, "3\"");
    }

    #[test]
    fn a_jump_leads_to_the_next_label_only() {
        let text = "LABEL=\"a\"\nGOTO=\"a\"\nGOTO=\"b\"\nLABEL=\"b\"\nLABEL=\"b\"\n";
        let jumps: Vec<Option<usize>> = rules(text).iter().map(|rule| rule.jump).collect();
        assert_eq!(jumps, [None, None, Some(3), None, None]);
    }
}

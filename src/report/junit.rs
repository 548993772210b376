//! A test case for each primary comparison: worse is a failure, undecided is skipped. Pure.

use std::fmt::Write;

use super::result::{ArmComparison, ResultFile, Status};
use super::words;
use crate::ab::verdict::Verdict;

pub fn render(result: &ResultFile) -> String {
    let cases: Vec<&ArmComparison> = result.comparisons.iter().filter(|c| c.primary).collect();
    let count = |verdict| {
        let hits = cases.iter().filter(|c| c.comparison.verdict == verdict);
        hits.count()
    };
    let incomplete = result.status != Status::Complete;
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    let _ = writeln!(
        xml,
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" timestamp=\"{}\" time=\"0\" \
         hostname=\"localhost\">",
        escaped(&words::title(result)),
        cases.len() + usize::from(incomplete),
        count(Verdict::Worse),
        usize::from(incomplete),
        count(Verdict::Inconclusive),
        // The schema's times have no zone.
        escaped(result.started.trim_end_matches('Z')),
    );
    let class = escaped(&format!("iosched-ab.{}", result.workload.name));
    for case in cases {
        let name = escaped(&words::name(case));
        let _ = writeln!(
            xml,
            "    <testcase classname=\"{class}\" name=\"{name}\" time=\"0\">"
        );
        let found = escaped(&words::sentence(case));
        let _ = match case.comparison.verdict {
            Verdict::Worse => writeln!(xml, "      <failure type=\"worse\" message=\"{found}\"/>"),
            Verdict::Inconclusive => writeln!(xml, "      <skipped message=\"{found}\"/>"),
            Verdict::Better | Verdict::Equivalent => {
                writeln!(xml, "      <system-out>{found}</system-out>")
            }
        };
        xml += "    </testcase>\n";
    }
    if incomplete {
        let why = escaped(result.error.as_deref().unwrap_or("the run has not ended"));
        let _ = writeln!(
            xml,
            "    <testcase classname=\"{class}\" name=\"the run\" time=\"0\">\n      \
             <error type=\"incomplete\" message=\"{why}\"/>\n    </testcase>"
        );
    }
    xml + "  </testsuite>\n</testsuites>\n"
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\n' | '\r' | '\t' => escaped.push(' '),
            // No XML 1.0 document may have these, not even escaped.
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push('?'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn any_text_is_xml() {
        assert_eq!(
            escaped("a<b & \"c\"\u{1b}[0m\n"),
            "a&lt;b &amp; &quot;c&quot;?[0m "
        );
    }
}

//! Families as Prometheus' protocol buffers, which have native histograms beside the classic ones: the messages of
//! io.prometheus.client, as far as they are used. Pure.

use prost::{Enumeration, Message};

use super::families::{Family, Kind, Labels, Value};
use super::spread::{SCHEMA, Spread};

/// Below it, a value counts as 0; none is.
const SMALLEST_S: f64 = 1e-12;

#[derive(Clone, PartialEq, Message)]
struct MetricFamily {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    help: String,
    #[prost(enumeration = "MetricType", tag = "3")]
    kind: i32,
    #[prost(message, repeated, tag = "4")]
    metric: Vec<Metric>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
enum MetricType {
    Counter = 0,
    Gauge = 1,
    Histogram = 4,
}

#[derive(Clone, PartialEq, Message)]
struct Metric {
    #[prost(message, repeated, tag = "1")]
    label: Vec<LabelPair>,
    #[prost(message, optional, tag = "2")]
    gauge: Option<Number>,
    #[prost(message, optional, tag = "3")]
    counter: Option<Number>,
    #[prost(message, optional, tag = "7")]
    histogram: Option<Histogram>,
}

#[derive(Clone, PartialEq, Message)]
struct LabelPair {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    value: String,
}

/// A gauge or a counter.
#[derive(Clone, Copy, PartialEq, Message)]
struct Number {
    #[prost(double, tag = "1")]
    value: f64,
}

#[derive(Clone, PartialEq, Message)]
struct Histogram {
    #[prost(uint64, tag = "1")]
    sample_count: u64,
    #[prost(double, tag = "2")]
    sample_sum: f64,
    #[prost(message, repeated, tag = "3")]
    bucket: Vec<Bucket>,
    #[prost(sint32, tag = "5")]
    schema: i32,
    #[prost(double, tag = "6")]
    zero_threshold: f64,
    #[prost(message, repeated, tag = "12")]
    positive_span: Vec<BucketSpan>,
    #[prost(sint64, repeated, tag = "13")]
    positive_delta: Vec<i64>,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct Bucket {
    #[prost(uint64, tag = "1")]
    cumulative_count: u64,
    #[prost(double, tag = "2")]
    upper_bound: f64,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct BucketSpan {
    #[prost(sint32, tag = "1")]
    offset: i32,
    #[prost(uint32, tag = "2")]
    length: u32,
}

/// One after the other, each with its length before it.
pub fn encode(families: &[Family]) -> Vec<u8> {
    let messages = families.iter().map(|family| MetricFamily {
        name: family.whole_name(),
        help: family.help.to_owned(),
        kind: match family.kind {
            Kind::Counter => MetricType::Counter,
            Kind::Gauge => MetricType::Gauge,
            Kind::Histogram => MetricType::Histogram,
        } as i32,
        metric: family
            .samples
            .iter()
            .map(|(labels, value)| metric(family.kind, labels, value))
            .collect(),
    });
    messages
        .flat_map(|message| message.encode_length_delimited_to_vec())
        .collect()
}

fn metric(kind: Kind, labels: &Labels, value: &Value) -> Metric {
    let labels = labels.iter().map(|(name, value)| LabelPair {
        name: (*name).to_owned(),
        value: value.clone(),
    });
    let number = match value {
        Value::Count(count) => Some(*count as f64),
        Value::Number(number) => Some(*number),
        Value::Spread(_) => None,
    };
    let number = number.map(|value| Number { value });
    Metric {
        label: labels.collect(),
        gauge: number.filter(|_| kind == Kind::Gauge),
        counter: number.filter(|_| kind == Kind::Counter),
        histogram: match value {
            Value::Spread(spread) => Some(histogram(spread)),
            Value::Count(_) | Value::Number(_) => None,
        },
    }
}

fn histogram(spread: &Spread) -> Histogram {
    let mut below = 0;
    let buckets = spread.buckets.iter().map(|(bound, count)| {
        below += count;
        Bucket {
            cumulative_count: below,
            upper_bound: *bound,
        }
    });
    let (spans, deltas) = spread.spans_and_deltas();
    let spans = spans
        .into_iter()
        .map(|(offset, length)| BucketSpan { offset, length });
    Histogram {
        sample_count: spread.count,
        sample_sum: spread.sum,
        bucket: buckets.collect(),
        schema: SCHEMA,
        zero_threshold: SMALLEST_S,
        positive_span: spans.collect(),
        positive_delta: deltas,
    }
}

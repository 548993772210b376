//! Families as Prometheus reads them: OpenMetrics, its older own text, or protocol buffers, which have native histograms beside
//! the classic ones. Pure.

use anyhow::Result;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, prometheus_text, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};

use super::families::{Family, Kind, Labels, Value};
use super::protobuf;

/// What the reader takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Protobuf,
    OpenMetrics,
    Plain,
}

impl Format {
    /// By the header `Accept`: what is named first. Prometheus names protocol buffers first where it wants native histograms.
    pub fn of(accept: &str) -> Format {
        let kinds = accept
            .split(',')
            .map(|kind| kind.split(';').next().unwrap_or(kind));
        let known = kinds.filter_map(|kind| match kind.trim() {
            "application/vnd.google.protobuf" => Some(Format::Protobuf),
            "application/openmetrics-text" => Some(Format::OpenMetrics),
            "text/plain" => Some(Format::Plain),
            _ => None,
        });
        let mut known = known;
        known.next().unwrap_or(Format::Plain)
    }

    pub fn content_type(self) -> &'static str {
        match self {
            Format::Protobuf => {
                "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"
            }
            Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Format::Plain => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

/// Err: never, because it is written to memory.
pub fn encode(families: Vec<Family>, format: Format) -> Result<Vec<u8>> {
    if format == Format::Protobuf {
        return Ok(protobuf::encode(&families));
    }
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Exposed(families)));
    let mut page = String::new();
    if format == Format::OpenMetrics {
        text::encode(&mut page, &registry)?;
    } else {
        prometheus_text::encode(&mut page, &registry)?;
    }
    Ok(page.into_bytes())
}

#[derive(Debug)]
struct Exposed(Vec<Family>);

impl Collector for Exposed {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> std::fmt::Result {
        for family in &self.0 {
            let kind = match family.kind {
                Kind::Counter => MetricType::Counter,
                Kind::Gauge => MetricType::Gauge,
                Kind::Histogram => MetricType::Histogram,
            };
            let unit = family.unit.map(|unit| Unit::Other(unit.to_owned()));
            let mut metric =
                encoder.encode_descriptor(family.name, family.help, unit.as_ref(), kind)?;
            for (labels, value) in &family.samples {
                let mut sample = metric.encode_family(labels)?;
                match (family.kind, value) {
                    (Kind::Counter, Value::Count(count)) => {
                        sample.encode_counter::<Labels, _, f64>(count, None)?;
                    }
                    (Kind::Counter, Value::Number(number)) => {
                        sample.encode_counter::<Labels, _, f64>(number, None)?;
                    }
                    (Kind::Gauge, Value::Count(count)) => sample.encode_gauge(count)?,
                    (Kind::Gauge, Value::Number(number)) => sample.encode_gauge(number)?,
                    (Kind::Histogram, Value::Spread(spread)) => {
                        sample.encode_histogram::<Labels>(
                            spread.sum,
                            spread.count,
                            &spread.buckets,
                            None,
                        )?;
                    }
                    _ => return Err(std::fmt::Error),
                }
            }
        }
        Ok(())
    }
}

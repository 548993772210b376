//! A group as a result without rounds, so that decisions and gates, which go by verdicts, take it. Pure.

use serde_json::json;

use super::{Group, HostVote, Merged, Row};
use crate::metric::Metric;
use crate::statistics::estimate::{self, ConfidenceInterval};
use crate::statistics::power;
use crate::statistics::stalls::StalledRounds;
use crate::statistics::stopping::{Method, Stopping};
use crate::statistics::student::Student;
use crate::statistics::verdict::{Comparison, Question, Verdict};
use crate::types::disk_id::DiskId;
use crate::types::environment::Environment;
use crate::types::outcome::Fixed;
use crate::types::plan::Plan;
use crate::types::result::{
    ArmComparison, Design, DeviceInfo, ProbeInfo, ResultFile, Status, Subject, WorkloadInfo,
};

const VIEW: &str = "merged";

/// Whether it is the view of a group: it has no rounds, and none can be added.
pub fn is_view(result: &ResultFile) -> bool {
    result.workload.description["kind"] == VIEW
}

/// The level of a host by itself.
const OF_HOST: f64 = 0.05;

impl Row {
    /// As a comparison of as many blocks as there are hosts.
    pub fn comparison(&self) -> Comparison {
        let metric = &self.metric;
        let question = Question::plain(
            metric.scale,
            metric.direction,
            metric.margin,
            self.alpha,
            Method::SignedRank,
        );
        let sd = self
            .standard_error
            .map(|error| error * (self.hosts as f64).sqrt());
        Comparison {
            question,
            blocks: self.hosts,
            blocks_missing: self.votes.len() - self.hosts,
            estimate: self.estimate,
            interval: self.interval,
            ratio: self.ratio,
            ratio_interval: self.ratio_interval,
            p: self.p,
            student: Student::default(),
            sd,
            mde: sd
                .filter(|_| self.unjudged.is_empty())
                .and_then(|sd| power::detectable(question, sd, self.hosts))
                .and_then(|effect| metric.scale.to_margin(effect)),
            verdict: self.verdict,
            // The arm may be worse on the hosts that cannot judge it, so a gate must not pass it.
            withheld: (!self.unjudged.is_empty() && self.verdict == Verdict::Inconclusive)
                .then_some(Verdict::Worse),
            beyond_margin: self.beyond_margin,
            tiny_nonzero: self.verdict == Verdict::Equivalent
                && self
                    .interval
                    .is_some_and(|interval| !interval.contains(0.0)),
            stalled: StalledRounds::default(),
            reasons: Vec::new(),
        }
    }

    pub fn as_comparison(&self) -> ArmComparison {
        ArmComparison {
            metric: self.metric.clone(),
            primary: true,
            control: false,
            sight: None,
            arrivals: false,
            arm: self.arm.clone(),
            reference: self.reference.clone(),
            arm_median: None,
            reference_median: None,
            p_adjusted: None,
            q_benjamini_hochberg: None,
            position_effect: None,
            carry_over_bias: None,
            decided_after_blocks: None,
            no_ratio: Vec::new(),
            comparison: self.comparison(),
            other_adjustment: None,
            load_slopes: None,
        }
    }
}

impl HostVote {
    /// Adds Student's interval, at 95 % for this host alone.
    pub fn comparison(&self, metric: &Metric) -> Comparison {
        let question = Question::plain(
            metric.scale,
            metric.direction,
            metric.margin,
            OF_HOST,
            Method::SignedRank,
        );
        let df = self.blocks.saturating_sub(self.runs);
        let half = estimate::student_quantile(OF_HOST / 2.0, df)
            .zip(self.standard_error)
            .map(|(quantile, error)| quantile * error);
        let interval = self.estimate.zip(half);
        let interval = interval.map(|(estimate, half)| ConfidenceInterval {
            lower: estimate - half,
            upper: estimate + half,
            attained_confidence: 1.0 - OF_HOST,
        });
        Comparison {
            question,
            blocks: self.blocks,
            blocks_missing: 0,
            estimate: self.estimate,
            interval,
            ratio: metric.scale.ratio(self.estimate),
            ratio_interval: metric.scale.ratio_interval(interval),
            p: None,
            student: Student::default(),
            sd: None,
            mde: None,
            verdict: interval.map_or(Verdict::Inconclusive, |interval| question.judge(interval)),
            withheld: None,
            beyond_margin: false,
            tiny_nonzero: false,
            stalled: StalledRounds::default(),
            reasons: self.reasons.clone(),
        }
    }
}

impl Merged {
    /// With the verdicts of the group, and without anything that was measured.
    pub fn as_result(&self, group: &Group) -> ResultFile {
        let asked = &self.question;
        let mut design = Design::new(
            asked.arms.clone(),
            asked.reference,
            Stopping::Fixed { blocks: 0 },
            asked.primary.clone(),
        );
        design.goals.clone_from(&asked.goals);
        design.alpha = asked.alpha;
        let kind = &group.kind;
        let subject = Subject {
            environment: Environment {
                hostname: None,
                iosched_version: self.iosched_version.clone(),
                kernel_release: kind.kernel.clone(),
                kernel_version: String::new(),
                architecture: String::new(),
                cpu_model: None,
                cpus: 0,
                memory_bytes: None,
                cpu_governor: None,
                fio_version: None,
            },
            device: DeviceInfo {
                device: DiskId {
                    name: format!("{} hosts", group.hosts.len()),
                    major: 0,
                    minor: 0,
                    diskseq: None,
                },
                identity: None,
                driver: None,
                model: Some(kind.model.clone()),
                firmware: Some(kind.firmware.clone()),
                size_bytes: None,
                rotational: None,
                hardware_queues: 0,
                scratch: None,
                group: None,
            },
            probe: ProbeInfo {
                measures_q2g: true,
                memory_bytes: 0,
                notes: Vec::new(),
            },
        };
        let workload = WorkloadInfo {
            name: asked.workload.clone(),
            fixed: Fixed::Time,
            description: json!({ "kind": VIEW }),
            scratch_file: None,
            participants: Vec::new(),
        };
        let plan = Plan::new(0, asked.arms.len(), 0);
        let mut result = ResultFile::new(String::new(), subject, workload, design, plan);
        result.status = Status::Complete;
        result.comparisons = group.rows.iter().map(Row::as_comparison).collect();
        result
    }
}

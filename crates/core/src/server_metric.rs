//! Server metrics in the Prometheus text format, and their common meaning across services.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// One sample of one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// When it was taken.
    pub at: Timestamp,
    /// The service's name of the metric.
    pub metric: String,
    /// Its labels, as a JSON object.
    pub labels: String,
    /// The value.
    pub value: f64,
}

/// Summary of a metric over a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Span {
    /// The first value.
    pub first: f64,
    /// The last one.
    pub last: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// Number of samples.
    pub samples: u64,
    /// Growth of a counter; `None` for a gauge and for a counter that reset.
    pub grown: Option<f64>,
}

/// A metric that several services export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerMetric {
    /// The name in ipw.
    pub name: &'static str,
    /// Whether it is a counter.
    pub is_counter: bool,
    /// Names in the services.
    metrics: &'static [&'static str],
}

const fn gauge(name: &'static str, metrics: &'static [&'static str]) -> ServerMetric {
    ServerMetric {
        name,
        is_counter: false,
        metrics,
    }
}

const fn counter(name: &'static str, metrics: &'static [&'static str]) -> ServerMetric {
    ServerMetric {
        name,
        is_counter: true,
        metrics,
    }
}

/// Names in vLLM, `SGLang`, TGI and llama.cpp, from their documentation and sources.
const KNOWN: [ServerMetric; 11] = [
    gauge(
        "requests_running",
        &[
            "vllm:num_requests_running",
            "sglang:num_running_reqs",
            "tgi_batch_current_size",
            "llamacpp:requests_processing",
        ],
    ),
    gauge(
        "requests_waiting",
        &[
            "vllm:num_requests_waiting",
            "sglang:num_queue_reqs",
            "tgi_queue_size",
            "llamacpp:requests_deferred",
        ],
    ),
    gauge(
        "kv_cache_use_ratio",
        &[
            "vllm:kv_cache_usage_perc",
            "vllm:gpu_cache_usage_perc",
            "sglang:token_usage",
            "llamacpp:kv_cache_usage_ratio",
        ],
    ),
    counter(
        "prompt_tokens",
        &[
            "vllm:prompt_tokens_total",
            "sglang:prompt_tokens_total",
            "tgi_request_input_length_sum",
            "llamacpp:prompt_tokens_total",
        ],
    ),
    counter(
        "output_tokens",
        &[
            "vllm:generation_tokens_total",
            "sglang:generation_tokens_total",
            "tgi_request_generated_tokens_sum",
            "llamacpp:tokens_predicted_total",
        ],
    ),
    counter(
        "requests",
        &[
            "vllm:request_success_total",
            "sglang:num_requests_total",
            "tgi_request_success",
        ],
    ),
    counter("preemptions", &["vllm:num_preemptions_total"]),
    counter(
        "prefix_cache_queries",
        &[
            "vllm:prefix_cache_queries_total",
            "vllm:prefix_cache_queries",
        ],
    ),
    counter(
        "prefix_cache_hits",
        &["vllm:prefix_cache_hits_total", "vllm:prefix_cache_hits"],
    ),
    counter(
        "speculative_drafted_tokens",
        &["vllm:spec_decode_num_draft_tokens_total"],
    ),
    counter(
        "speculative_accepted_tokens",
        &["vllm:spec_decode_num_accepted_tokens_total"],
    ),
];

/// The common name of a service's metric; `None` for a metric of one service only.
pub fn known_as(metric: &str) -> Option<&'static ServerMetric> {
    KNOWN.iter().find(|known| known.metrics.contains(&metric))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_services_mean_alike_has_one_name_and_no_metric_has_two() {
        assert_eq!(
            known_as("vllm:num_requests_waiting").map(|known| known.name),
            known_as("llamacpp:requests_deferred").map(|known| known.name),
        );
        assert!(
            known_as("llamacpp:tokens_predicted_total")
                .unwrap()
                .is_counter
        );
        assert!(known_as("python_gc_objects_collected_total").is_none());
        let mut all: Vec<&str> = KNOWN
            .iter()
            .flat_map(|known| known.metrics)
            .copied()
            .collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}

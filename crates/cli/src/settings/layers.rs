//! Merges settings: flags and environment over the file.

use crate::args::ProfileArgs;

/// A setting that may be absent.
trait Layer {
    /// Fills an absent value from a weaker layer.
    fn over(&mut self, weaker: Self);
}

impl<T> Layer for Option<T> {
    fn over(&mut self, weaker: Self) {
        if self.is_none() {
            *self = weaker;
        }
    }
}

impl<T> Layer for Vec<T> {
    fn over(&mut self, weaker: Self) {
        if self.is_empty() {
            *self = weaker;
        }
    }
}

impl Layer for bool {
    fn over(&mut self, weaker: Self) {
        *self |= weaker;
    }
}

impl ProfileArgs {
    /// Fills absent values from a weaker layer.
    pub(super) fn over(&mut self, weaker: Self) {
        macro_rules! over {
            ($($field:ident),* $(,)?) => { $(self.$field.over(weaker.$field);)* };
        }
        // A key from a stronger layer replaces both ways to name one.
        if self.api_key_env.is_none() && self.api_key_file.is_none() {
            over!(api_key_env, api_key_file);
        }
        // Later pairs win, so the weaker ones come first.
        for (own, weaker) in [
            (&mut self.client_param, weaker.client_param),
            (&mut self.dataset_param, weaker.dataset_param),
            (&mut self.param, weaker.param),
        ] {
            own.splice(0..0, weaker);
        }
        // Duplicate keys within the flags stay, so that `tags` can refuse them.
        for tag in weaker.tag {
            if !self.tag.iter().any(|own| own.key == tag.key) {
                self.tag.push(tag);
            }
        }
        over!(
            // Service
            client,
            model,
            client_base_url,
            api,
            insecure_key,
            server_metrics,
            ca_file,
            header_file,
            header_env,
            http2,
            request_timeout,
            first_token_timeout,
            idle_timeout,
            max_reply,
            // Workload
            dataset,
            max_queries,
            concurrency,
            rate,
            arrival,
            trace,
            ramp,
            duration,
            repeat,
            seed,
            retries,
            unique_prefix,
            slo,
            scorer,
            tokenizer,
            prices,
            system,
            warmup,
            max_failed,
            max_error_rate,
            // Energy
            sample_interval,
            idle,
            require_energy,
            no_estimate,
            cpu_tdp,
            gpu,
            telemetry,
            basis,
            service_host,
            service_pid,
            // Output
            output_dir,
            name,
            overwrite,
            yes,
            flush_every,
            durable,
            json,
            quiet,
            no_report,
        );
    }
}

"""Runs as the Python original leaves them, and what its accuracy pass does to a run.

`make OUT` writes six small runs below OUT. `accuracy RUN` grades a run of the original, or ours, in
place. Columns, keys and steps are those of the original; every line is our own.
"""

import json
import os
import shutil
import sys
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_DATASETS_OFFLINE"] = "1"
# Do not touch the user's own cache.
os.environ["HF_HOME"] = os.path.join(sys.prefix, "hugging-face")

import datasets

datasets.disable_progress_bars()

# problem, reference, subject, reply, input and output tokens, first token s, whole s, joules, watts
ROWS = [
    ("What is 1 + 1?", "2", "sums", "It is 2.", 12, 4, 0.125, 0.5, 50.0, 100.0),
    ("What is 2 + 3?", "5", "sums", "It is 6.", 12, 8, 0.25, 1.0, 120.0, 120.0),
    ("Which is the capital of France?", "Paris", "places", "Paris", 14, 2, 0.125, 0.25, 20.0, 80.0),
    ("Which is the capital of Peru?", "Lima", "places", "Lima, I think.", 14, 16, 0.5, 2.0, 200.0, 100.0),
    ("Say something.", "", "", "Something.", 8, 3, 0.25, 0.5, 45.0, 90.0),
]


def spread(value):
    return {"avg": value, "max": value, "median": value, "min": value}


def power(value):
    return {"per_query_watts": spread(value), "total_watts": spread(value)}


def metrics(row, kind):
    """The struct of one model, with its fields in the original's order."""
    _, _, _, reply, read, written, first, seconds, joules, watts = row
    is_soc, has_energy = kind == "soc", kind != "plain"
    gpu = joules / (2 if is_soc else 1) if has_energy else None
    gpu_watts = watts / (2 if is_soc else 1) if has_energy else None
    counted = (joules if is_soc else gpu) if has_energy else None
    basis = ("soc" if is_soc else "gpu") if has_energy else None
    energy = {
        "per_query_joules": gpu,
        "total_joules": gpu,
        "cpu_per_query_joules": joules * 0.375 if is_soc else None,
        "cpu_total_joules": joules * 0.375 if is_soc else None,
        "judge_gpu_joules": None,
        "judge_cpu_joules": None,
        "total_task_gpu_joules": None,
        "total_task_cpu_joules": None,
        "ane_per_query_joules": joules * 0.125 if is_soc else None,
        "ane_total_joules": joules * 0.125 if is_soc else None,
        "soc_per_query_joules": joules if is_soc else None,
        "soc_total_joules": joules if is_soc else None,
        "energy_per_output_token_joules": counted and counted / written,
        "energy_per_total_token_joules": counted and counted / (read + written),
        "basis": basis,
    }
    device = {
        "name": "Apple M2" if is_soc else "NVIDIA H100 80GB HBM3",
        "vendor": "Apple" if is_soc else "NVIDIA",
        "device_id": 0,
        "device_type": "gpu",
        "backend": "powermetrics" if is_soc else "nvml",
    }
    return {
        "compute_metrics": {
            "flops_per_request": None,
            "macs_per_request": None,
            "total_flops": None,
            "flops_per_token": None,
        },
        "energy_metrics": energy,
        "latency_metrics": {
            "per_token_ms": seconds * 1000 / written,
            "throughput_tokens_per_sec": written / seconds,
            "time_to_first_token_seconds": first,
            "total_query_seconds": seconds,
            "median_itl_ms": 20.0,
            "p90_itl_ms": 30.0,
            "p95_itl_ms": 31.0,
            "p99_itl_ms": 32.0,
            "itl_std_ms": 2.5,
        },
        "memory_metrics": {
            "cpu_mb": spread(4096.0),
            "gpu_mb": spread(10240.0 if has_energy else None),
        },
        "power_metrics": {
            "gpu": power(gpu_watts),
            "cpu": power(watts * 0.375 if is_soc else None),
            "ane": power(watts * 0.125 if is_soc else None),
            "soc": power(watts if is_soc else None),
            "basis": basis,
        },
        "temperature_metrics": spread(55.0 if kind == "gpu" else None),
        "token_metrics": {"input": read, "output": written, "total": read + written},
        "phase_metrics": {
            "prefill_energy_j": None,
            "decode_energy_j": None,
            "prefill_duration_ms": first * 1000,
            "decode_duration_ms": (seconds - first) * 1000,
            "prefill_power_avg_w": None,
            "decode_power_avg_w": None,
            "prefill_energy_per_input_token_j": None,
            "decode_energy_per_output_token_j": None,
            "prefill_energy_components_j": None,
            "decode_energy_components_j": None,
        },
        "hardware_utilization": {
            "gpu": {
                "compute_utilization_pct": 75.0 if kind == "gpu" else None,
                "memory_bandwidth_utilization_pct": None,
                "tensor_core_utilization_pct": None,
                "memory_used_gb": 10.0 if has_energy else None,
                "memory_total_gb": 80.0 if kind == "gpu" else None,
            },
            "derived": {"mfu": None, "mbu": None, "arithmetic_intensity": None},
        },
        "efficiency": {
            "throughput_per_watt": gpu_watts and written / seconds / gpu_watts,
            "flops_per_joule": None,
            "flops_per_watt": None,
        },
        "cost": {
            "input_cost_usd": None,
            "output_cost_usd": None,
            "tool_cost_usd": None,
            "total_cost_usd": None,
        },
        "gpu_info": device if has_energy else None,
        "system_info": system(kind),
        "lm_correctness": False,
        "lm_response": reply,
    }


def system(kind):
    is_soc = kind == "soc"
    return {
        "os_name": "macos" if is_soc else "linux",
        "os_version": "15.1" if is_soc else "24.04",
        "kernel_version": "24.1.0" if is_soc else "6.8.0",
        "host_name": "host",
        "cpu_count": 8,
        "cpu_brand": "Apple M2" if is_soc else "A CPU",
    }


def make(out, kind, model, hardware):
    """One run: rows, and `summary.json`."""
    slug = "".join(letter if letter.isalnum() else "_" for letter in model)
    directory = out / f"profile_{hardware}_{slug}_{kind}"
    rows = []
    for number, row in enumerate(ROWS):
        has_metadata = kind != "plain"
        rows.append(
            {
                "problem": row[0],
                "answer": row[1],
                # Keys are the union over all rows; without any, the struct is empty.
                "dataset_metadata": {"source": "ours", "level": number} if has_metadata else {},
                "subject": row[2],
                "model_answers": {model: row[3]},
                "model_metrics": {model: metrics(row, kind)},
            }
        )
    datasets.Dataset.from_list(rows).save_to_disk(str(directory))
    config = {
        "dataset_id": "ipw",
        "client_id": "ollama",
        "client_base_url": "http://localhost:11434",
        "dataset_params": {},
        "client_params": {},
        "model": model,
        "output_dir": "runs",
        "max_concurrency": 1,
        "max_queries": len(rows),
        "phased_profiling": False,
        "run_hardware_benchmarks": True,
        "additional_parameters": {},
        "warmup_queries": 3,
        "telemetry_buffer_seconds": 7200.0,
        "telemetry_max_samples": 150000,
    }
    first = rows[0]["model_metrics"][model]
    summary = {
        "model": model,
        "profiler_config": config,
        "dataset": "ipw",
        "dataset_name": "IPW Mixed",
        "hardware_label": hardware,
        "generated_at": 1760000000.5,
        "total_queries": len(rows),
        "system_info": first["system_info"],
        "gpu_info": first["gpu_info"],
        "output_dir": f"runs/{directory.name}",
        "versions": {"ipw": "0.1.0", "python": "3.13.1"},
        "client_info": None,
    }
    (directory / "summary.json").write_text(json.dumps(summary, indent=2, default=str))
    return directory


def verdict(row, model):
    """What a provider says of an answer: right, wrong, or nothing with a reason."""
    reference, reply = row["answer"], row["model_answers"][model]
    if not reference:
        return None, {"reason": "no_reference"}
    return reference in reply, {"matched": reference}


def is_part_of_the_dataset(entry, saved):
    """Whether the original takes what stood beside the rows for rows, and drops it."""
    is_named_so = entry.name in {"dataset_info.json", "state.json", "dataset_dict.json"}
    is_data = entry.name.startswith("data-") or entry.name.endswith(".arrow")
    is_dataset = entry.is_dir() and (entry / "dataset_info.json").exists()
    return entry.name in saved or is_named_so or is_data or is_dataset


def accuracy(directory):
    """Grades every row, and puts a new directory in the place of the old one."""
    rows = datasets.load_from_disk(str(directory))
    (model,) = rows[0]["model_answers"]

    def graded(row, _):
        is_correct, why = verdict(row, model)
        own = row["model_metrics"][model]
        own["evaluation"] = {
            "is_correct": is_correct,
            "metadata": json.dumps({**why, "evaluation_attempts": 1}),
            "config": {},
        }
        own["lm_correctness"] = is_correct
        return row

    made = directory.with_name(directory.name + "_temp_evaluated_dataset")
    kept = directory.with_suffix(".bak")
    rows.map(graded, with_indices=True).save_to_disk(str(made))
    saved = {entry.name for entry in made.iterdir()}
    directory.rename(kept)
    made.rename(directory)
    for entry in kept.iterdir():
        if is_part_of_the_dataset(entry, saved):
            continue
        if entry.is_dir():
            shutil.copytree(entry, directory / entry.name)
        else:
            shutil.copy2(entry, directory / entry.name)
    shutil.rmtree(kept)
    analysis = directory / "analysis"
    analysis.mkdir(exist_ok=True)
    (analysis / "accuracy.json").write_text(json.dumps({"analysis": "accuracy"}))


def main(command, path):
    path = Path(path)
    if command == "accuracy":
        accuracy(path)
        return
    for kind, model, hardware in [
        ("gpu", "Qwen/Qwen3-0.6B:fp16.v1", "H100"),
        ("soc", "llama3.2:1b", "APPLE_M2"),
        ("plain", "smollm2:135m", "UNKNOWN_HW"),
    ]:
        directory = make(path, kind, model, hardware)
        graded = directory.with_name(directory.name + "_graded")
        shutil.copytree(directory, graded)
        accuracy(graded)
        print(json.dumps({"kind": kind, "model": model, "ungraded": str(directory), "graded": str(graded)}))


main(*sys.argv[1:])

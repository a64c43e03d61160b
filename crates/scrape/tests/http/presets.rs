//! Replies after the public examples of each preset.

use ipw_core::source::{Domain, Source};
use ipw_scrape::http::known;

use super::{at_once, poll, serving};

struct Case {
    preset: &'static str,
    path: &'static str,
    body: &'static str,
    /// Ends of names, domains and values in our units.
    expected: &'static [(&'static str, Domain, f64)],
}

const CASES: &[Case] = &[
    Case {
        preset: "shelly-gen2",
        path: "/rpc/Switch.GetStatus?id=0",
        body: r#"{"id":0,"source":"WS_in","output":true,"apower":8.9,"voltage":237.5,
            "current":0.063,"aenergy":{"total":6.532,"by_minute":[45.199,47.141,88.397],
            "minute_ts":1626935779},"temperature":{"tC":23.5,"tF":74.4}}"#,
        expected: &[
            ("/energy", Domain::Platform, 6.532 * 3600.0),
            ("/power", Domain::Platform, 8.9),
        ],
    },
    Case {
        preset: "shelly-gen1",
        path: "/meter/0",
        body: r#"{"power":32.47,"overpower":0.0,"is_valid":true,"timestamp":1594825012,
            "counters":[33.1,32.9,33.0],"total":2077}"#,
        expected: &[
            ("/energy", Domain::Platform, 124_620.0),
            ("/power", Domain::Platform, 32.47),
        ],
    },
    Case {
        preset: "tasmota",
        path: "/cm?cmnd=Status%208",
        body: r#"{"StatusSNS":{"Time":"2019-09-06T20:06:19","ENERGY":{"TotalStartTime":
            "2019-08-18T11:07:55","Total":0.003,"Yesterday":0.000,"Today":0.003,"Power":26,
            "ApparentPower":25,"ReactivePower":25,"Factor":0.06,"Voltage":239,"Current":0.106}}}"#,
        expected: &[
            ("/energy", Domain::Platform, 10_800.0),
            ("/power", Domain::Platform, 26.0),
        ],
    },
    Case {
        preset: "redfish-power",
        path: "/redfish/v1/Chassis/1/Power",
        body: r##"{"@odata.type":"#Power.v1_7_1.Power","Id":"Power","PowerControl":[{"MemberId":
            "0","PowerConsumedWatts":344,"PowerRequestedWatts":800,"PowerMetrics":
            {"IntervalInMin":30,"AverageConsumedWatts":319}}],"Voltages":[]}"##,
        expected: &[("/power", Domain::Platform, 344.0)],
    },
    Case {
        preset: "redfish-environment",
        path: "/redfish/v1/Chassis/1/EnvironmentMetrics",
        body: r##"{"@odata.type":"#EnvironmentMetrics.v1_3_0.EnvironmentMetrics","PowerWatts":
            {"DataSourceUri":"/redfish/v1/Chassis/1/Sensors/TotalPower","Reading":374},
            "EnergykWh":{"Reading":325675},"TemperatureCelsius":{"Reading":24.4}}"##,
        expected: &[
            ("/energy", Domain::Platform, 325_675.0 * 3.6e6),
            ("/power", Domain::Platform, 374.0),
        ],
    },
    Case {
        preset: "redfish-environment",
        path: "/redfish/v1/Chassis/2/EnvironmentMetrics",
        body: r#"{"PowerWatts":{"Reading":12},"EnergykWh":{"Reading":null}}"#,
        expected: &[("/power", Domain::Platform, 12.0)],
    },
    Case {
        preset: "dcgm",
        path: "/metrics",
        body: concat!(
            "# HELP DCGM_FI_DEV_POWER_USAGE Power draw (in W).\n",
            "# TYPE DCGM_FI_DEV_POWER_USAGE gauge\n",
            "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\",UUID=\"GPU-aa\",pci_bus_id=\"00000000:37:00.0\",",
            "device=\"nvidia0\",modelName=\"Tesla T4\",Hostname=\"n1\"} 68.244000\n",
            "DCGM_FI_DEV_POWER_USAGE{gpu=\"1\",UUID=\"GPU-bb\",device=\"nvidia1\",",
            "modelName=\"Tesla T4\",GPU_I_ID=\"3\"} 14.2\n",
            "DCGM_FI_DEV_POWER_USAGE{gpu=\"1\",UUID=\"GPU-bb\",device=\"nvidia1\",",
            "modelName=\"Tesla T4\",GPU_I_ID=\"4\"} 14.2\n",
            "# TYPE DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION counter\n",
            "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu=\"0\",UUID=\"GPU-aa\"} 15152422938\n",
            "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\",UUID=\"GPU-aa\"} 41\n",
        ),
        expected: &[
            ("/gpu0/energy", Domain::Gpu, 15_152_422.938),
            ("/gpu0/power", Domain::Gpu, 68.244),
            ("/gpu1/power", Domain::Gpu, 14.2),
            ("/gpu0/temperature", Domain::Gpu, 41.0),
        ],
    },
    Case {
        preset: "zeusd",
        path: "/gpu/get_cumulative_energy",
        body: r#"{"0":{"energy_mj":1500},"1":{"energy_mj":2500}}"#,
        expected: &[
            ("/gpu0/energy", Domain::Gpu, 1.5),
            ("/gpu1/energy", Domain::Gpu, 2.5),
        ],
    },
    Case {
        preset: "zeusd-power",
        path: "/gpu/get_power",
        body: r#"{"timestamp_ms":1700000000000,"power_mw":{"0":75000,"1":80500}}"#,
        expected: &[
            ("/gpu0/power", Domain::Gpu, 75.0),
            ("/gpu1/power", Domain::Gpu, 80.5),
        ],
    },
    Case {
        preset: "zeusd-cpu",
        path: "/cpu/get_cumulative_energy?cpu=true&dram=true",
        body: r#"{"0":{"cpu_energy_uj":5000000,"dram_energy_uj":null}}"#,
        expected: &[("/cpu0/energy", Domain::CpuPackage, 5.0)],
    },
    Case {
        preset: "tensorrt-llm",
        path: "/energy_metrics",
        body: r#"{"total_energy_j":12345.6789,"query_time":8812.25}"#,
        expected: &[("/energy", Domain::Gpu, 12_345.678_9)],
    },
    Case {
        preset: "kepler",
        path: "/metrics",
        body: concat!(
            "kepler_node_cpu_joules_total{node_name=\"n\",path=\"/sys/class/powercap/",
            "intel-rapl:0\",zone=\"package\"} 100.5\n",
            "kepler_node_cpu_joules_total{node_name=\"n\",path=\"/sys/class/powercap/",
            "intel-rapl:0:0\",zone=\"core\"} 50\n",
            "kepler_node_cpu_joules_total{node_name=\"n\",path=\"/sys/class/powercap/",
            "intel-rapl:0:1\",zone=\"dram\"} 20\n",
        ),
        expected: &[
            ("/package-intel-rapl:0/energy", Domain::CpuPackage, 100.5),
            ("/dram-intel-rapl:0:1/energy", Domain::Dram, 20.0),
        ],
    },
    Case {
        preset: "node-exporter",
        path: "/metrics",
        body: concat!(
            "node_rapl_package_joules_total{index=\"0\",path=\"/sys/class/powercap/",
            "intel-rapl-mmio:0\"} 118951.54\n",
            "node_rapl_package_joules_total{index=\"0\",path=\"/sys/class/powercap/",
            "intel-rapl:0\"} 118951.60\n",
            "node_rapl_package_joules_total{index=\"1\",path=\"/sys/class/powercap/",
            "intel-rapl:1\"} 7\n",
            "node_rapl_dram_joules_total{index=\"0\",path=\"/sys/class/powercap/x\"} 3\n",
        ),
        expected: &[
            ("/package-0/energy", Domain::CpuPackage, 118_951.54),
            ("/package-1/energy", Domain::CpuPackage, 7.0),
            ("/dram-0/energy", Domain::Dram, 3.0),
        ],
    },
    Case {
        preset: "scaphandre",
        path: "/metrics",
        body: "scaph_host_power_microwatts 9391334\nscaph_host_energy_microjoules 20000000\n",
        expected: &[
            ("/energy", Domain::Platform, 20.0),
            ("/power", Domain::Platform, 9.391_334),
        ],
    },
];

#[test]
fn every_preset_reads_what_its_documents_show() {
    for case in CASES {
        let server = serving(case.body);
        let is_redfish = case.preset.starts_with("redfish");
        let url = server.url() + if is_redfish { case.path } else { "" };
        let mut collector = at_once(&url, &[("preset", case.preset)]).unwrap();
        assert!(server.asked().iter().all(|asked| asked.path == case.path));
        let (taken, ended) = poll(&mut *collector);
        assert_eq!(ended, Ok(()), "{}", case.preset);
        assert_eq!(
            taken.len(),
            case.expected.len(),
            "{}: {taken:?}",
            case.preset
        );
        let sources: Vec<Source> = collector.sources().to_vec();
        for ((name, value), (source, (end, domain, expected))) in
            taken.iter().zip(sources.iter().zip(case.expected))
        {
            assert!(name.ends_with(end), "{name} {end}");
            assert!(
                (value - expected).abs() <= 1e-9 * expected.abs(),
                "{name}: {value}"
            );
            assert!(
                source.domain().is_none_or(|found| found == *domain),
                "{name}"
            );
        }
    }
    for known in known() {
        assert!(
            CASES.iter().any(|case| case.preset == known.name),
            "`{}` has no example",
            known.name
        );
    }
}

#[test]
fn boards_are_told_apart_and_described() {
    let case = CASES.iter().find(|case| case.preset == "dcgm").unwrap();
    let server = serving(case.body);
    let options = [("preset", "dcgm"), ("host", "n1"), ("name", "boards")];
    let collector = at_once(&server.url(), &options).unwrap();
    let devices = collector.devices();
    let ids: Vec<&str> = devices.iter().map(|device| &*device.id).collect();
    assert_eq!(ids, ["n1/http/boards/gpu0", "n1/http/boards/gpu1"]);
    assert_eq!(devices[1].name.as_deref(), Some("Tesla T4"));
    assert_eq!(devices[1].uuid.as_deref(), Some("GPU-bb"));
    let of = |end: &str| {
        let found = collector
            .sources()
            .iter()
            .find(|source| source.name.ends_with(end));
        found.unwrap().device.clone()
    };
    assert_eq!(of("gpu0/energy"), of("gpu0/power"));
}

#[test]
fn one_value_of_a_preset_can_be_taken_alone() {
    let server = serving(CASES[0].body);
    let options = [("preset", "shelly-gen2"), ("only", "power")];
    let collector = at_once(&server.url(), &options).unwrap();
    assert_eq!(collector.sources().len(), 1);
}

#[test]
fn a_reply_with_none_of_a_presets_values_is_an_error() {
    let server = serving(r#"{"id":0,"output":true}"#);
    let error = at_once(&server.url(), &[("preset", "shelly-gen2")])
        .err()
        .unwrap();
    assert!(
        error.contains("aenergy.total") && error.contains(&server.url()),
        "{error}"
    );
}

#[test]
fn the_documents_have_every_preset_with_its_source() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/collectors.md");
    let text = std::fs::read_to_string(path).unwrap();
    for known in known() {
        let row = text
            .lines()
            .find(|line| line.starts_with(&format!("| `{}` |", known.name)));
        let row = row.unwrap_or_default();
        assert!(
            row.contains(&format!("({})", known.document)),
            "{}: {row}",
            known.name
        );
        let path = known.path.unwrap_or("the URL of");
        assert!(row.contains(path), "{}: {row}", known.name);
    }
}

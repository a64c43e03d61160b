use proptest::prelude::*;

use super::*;

/// Names as the vendors' libraries, lspci and Metal report them.
const GPUS: [(&str, &str); 67] = [
    ("NVIDIA H100 80GB HBM3", "H100"),
    ("NVIDIA H100 PCIe", "H100"),
    ("NVIDIA H100 NVL", "H100NVL"),
    ("NVIDIA H200", "H200"),
    ("NVIDIA H20", "H20"),
    ("NVIDIA B200", "B200"),
    ("NVIDIA GB200", "GB200"),
    ("NVIDIA GH200 480GB", "GH200"),
    ("NVIDIA GH200 144G HBM3e", "GH200"),
    ("NVIDIA GB10", "GB10"),
    ("NVIDIA A100-SXM4-80GB", "A100"),
    ("NVIDIA A100 80GB PCIe", "A100"),
    ("A100-PCIE-40GB", "A100"),
    ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", "A100"),
    ("GRID A100X-40C", "A100X"),
    ("NVIDIA A10G", "A10G"),
    ("NVIDIA A10-24Q", "A10"),
    ("NVIDIA L4", "L4"),
    ("NVIDIA L40S", "L40S"),
    ("Tesla T4", "T4"),
    ("Tesla V100-SXM2-16GB", "V100"),
    ("Tesla V100-PCIE-32GB", "V100"),
    ("Tesla P100-PCIE-16GB", "P100"),
    ("Tesla K80", "K80"),
    ("NVIDIA GeForce RTX 4090", "RTX4090"),
    ("NVIDIA GeForce RTX 4090 D", "RTX4090D"),
    ("NVIDIA GeForce RTX 4090 Laptop GPU", "RTX4090Laptop"),
    ("NVIDIA GeForce RTX 4070 Ti", "RTX4070Ti"),
    ("NVIDIA GeForce RTX 4070 Ti SUPER", "RTX4070TiSuper"),
    ("NVIDIA GeForce RTX 5090", "RTX5090"),
    ("NVIDIA GeForce RTX 3050 6GB Laptop GPU", "RTX3050Laptop"),
    ("GeForce GTX 1080 Ti", "GTX1080Ti"),
    ("NVIDIA GeForce GTX 1650 with Max-Q Design", "GTX1650MaxQ"),
    ("NVIDIA GeForce 840M", "GeForce840M"),
    ("NVIDIA RTX A6000", "RTXA6000"),
    ("NVIDIA RTX 6000 Ada Generation", "RTX6000Ada"),
    ("NVIDIA RTX 4000 SFF Ada Generation", "RTX4000SFFAda"),
    ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTXPro6000"),
    (
        "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition",
        "RTXPro6000MaxQ",
    ),
    ("Quadro RTX 8000", "RTX8000"),
    ("NVIDIA TITAN RTX", "TitanRTX"),
    ("NVIDIA TITAN X (Pascal)", "TitanX"),
    ("Orin (nvgpu)", "Orin"),
    ("NVIDIA Jetson Orin Nano Developer Kit", "OrinNano"),
    (
        "NVIDIA Jetson Orin Nano Engineering Reference Developer Kit Super",
        "OrinNanoSuper",
    ),
    ("NVIDIA Jetson AGX Orin", "AGXOrin"),
    (
        "NVIDIA Corporation GA102 [GeForce RTX 3090] (rev a1)",
        "RTX3090",
    ),
    ("NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)", "H100"),
    ("AMD Instinct MI300X", "MI300X"),
    ("AMD Instinct MI300X OAM", "MI300X"),
    ("AMD INSTINCT MI250 (MCM) OAM AC MBA", "MI250"),
    (
        "Advanced Micro Devices, Inc. [AMD/ATI] Aldebaran/MI200 [Instinct MI250X/MI250] (rev 01)",
        "MI250X",
    ),
    (
        "Advanced Micro Devices, Inc. [AMD/ATI] Device 74a1",
        "AMD74a1",
    ),
    ("AMD Radeon RX 7900 XTX", "RX7900XTX"),
    (
        "Advanced Micro Devices, Inc. [AMD/ATI] Navi 31 [Radeon RX 7900 XT/7900 XTX] (rev c8)",
        "RX7900XT",
    ),
    ("AMD Radeon RX 580 Series", "RX580"),
    ("AMD Radeon PRO W7900", "W7900"),
    ("AMD Radeon AI PRO R9700", "R9700"),
    ("AMD Radeon VII", "RadeonVII"),
    ("AMD Radeon 780M Graphics", "Radeon780M"),
    ("Intel(R) Arc(TM) B580 Graphics", "ArcB580"),
    ("Intel Corporation DG2 [Arc A770] (rev 08)", "ArcA770"),
    ("Intel(R) Arc(TM) Pro B60 Graphics", "ArcProB60"),
    ("Intel(R) Data Center GPU Max 1550", "Max1550"),
    ("Apple M4 Max", "M4Max"),
    ("Apple M1", "M1"),
    ("Apple M2 Ultra", "M2Ultra"),
];

/// Names from `/proc/cpuinfo` and `sysctl machdep.cpu.brand_string`.
const CPUS: [(&str, &str); 59] = [
    ("AMD EPYC 9654 96-Core Processor", "EPYC9654"),
    ("AMD EPYC 7763 64-Core Processor", "EPYC7763"),
    ("AMD EPYC 7B13", "EPYC7B13"),
    ("AMD EPYC 9V74 80-Core Processor", "EPYC9V74"),
    ("AMD EPYC Processor", "EPYC"),
    ("AMD EPYC", "EPYC"),
    ("AMD EPYC-Rome Processor", "EPYC-Rome"),
    ("AMD EPYC-Milan Processor", "EPYC-Milan"),
    ("AMD Ryzen 9 7950X 16-Core Processor", "Ryzen7950X"),
    ("AMD Ryzen 7 5800X3D 8-Core Processor", "Ryzen5800X3D"),
    ("AMD Ryzen 7 PRO 5850U with Radeon Graphics", "Ryzen5850U"),
    ("AMD Ryzen 7 7840HS w/ Radeon 780M Graphics", "Ryzen7840HS"),
    ("AMD Ryzen AI 9 HX 370 w/ Radeon 890M", "RyzenAI370"),
    ("AMD RYZEN AI MAX+ 395 w/ Radeon 8060S", "RyzenAIMax+395"),
    ("AMD Ryzen Threadripper 7980X 64-Cores", "Threadripper7980X"),
    (
        "AMD Ryzen Threadripper PRO 5995WX 64-Cores",
        "Threadripper5995WX",
    ),
    ("AMD FX(tm)-8350 Eight-Core Processor", "FX-8350"),
    ("AMD Opteron(tm) Processor 6376", "Opteron6376"),
    ("Intel(R) Xeon(R) Platinum 8480+", "Xeon8480+"),
    ("INTEL(R) XEON(R) PLATINUM 8568Y+", "Xeon8568Y+"),
    ("Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz", "Xeon6338"),
    ("Intel(R) Xeon(R) Silver 4210R CPU @ 2.40GHz", "Xeon4210R"),
    (
        "Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz",
        "Xeon8259CL",
    ),
    ("Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz", "XeonE5-2680v4"),
    ("Intel(R) Xeon(R) CPU E3-1240 V2 @ 3.40GHz", "XeonE3-1240V2"),
    ("Intel(R) Xeon(R) CPU X5670 @ 2.93GHz", "XeonX5670"),
    ("Intel(R) Xeon(R) W-2295 CPU @ 3.00GHz", "XeonW-2295"),
    ("Intel(R) Xeon(R) w9-3495X", "Xeonw9-3495X"),
    ("Intel(R) Xeon(R) E-2288G CPU @ 3.70GHz", "XeonE-2288G"),
    ("Intel(R) Xeon(R) CPU Max 9480", "XeonMax9480"),
    ("Intel(R) Xeon(R) 6980P", "Xeon6980P"),
    ("Intel(R) Xeon(R) CPU @ 2.20GHz", "Xeon"),
    ("Intel Xeon Processor (Skylake, IBRS)", "XeonSkylake"),
    ("Intel Xeon Processor (Cascadelake)", "XeonCascadelake"),
    ("13th Gen Intel(R) Core(TM) i9-13900K", "i9-13900K"),
    ("Intel(R) Core(TM) i7-8700K CPU @ 3.70GHz", "i7-8700K"),
    (
        "11th Gen Intel(R) Core(TM) i7-1165G7 @ 2.80GHz",
        "i7-1165G7",
    ),
    ("Intel(R) Core(TM) i7 CPU         920  @ 2.67GHz", "i7-920"),
    ("Intel(R) Core(TM) Ultra 7 155H", "Ultra7-155H"),
    ("Intel(R) Core(TM) Ultra 9 285K", "Ultra9-285K"),
    ("Intel(R) Core(TM) 7 150U", "Core7-150U"),
    ("Intel(R) N100", "N100"),
    ("Intel(R) Celeron(R) J4125 CPU @ 2.00GHz", "CeleronJ4125"),
    ("Apple M2", "M2"),
    ("Apple M3 Pro", "M3Pro"),
    ("Apple M4 Max", "M4Max"),
    ("AWS Graviton3", "Graviton3"),
    ("Neoverse-V2", "Neoverse-V2"),
    ("Ampere(R) Altra(R) Processor", "Altra"),
    ("ARMv8 Processor rev 3 (v8l)", "ARMv8"),
    (
        "Snapdragon(R) X Elite - X1E78100 - Qualcomm(R) Oryon(TM) CPU",
        "SnapdragonXElite",
    ),
    ("POWER9, altivec supported", "POWER9"),
    ("QEMU Virtual CPU version 2.5+", UNKNOWN),
    ("Common KVM processor", UNKNOWN),
    ("VirtualApple @ 2.50GHz", UNKNOWN),
    ("Unknown CPU", UNKNOWN),
    ("", UNKNOWN),
    ("0", UNKNOWN),
    ("Intel(R) CPU @ 2.00GHz", UNKNOWN),
];

#[test]
fn gpus_have_short_names() {
    let wrong: Vec<_> = GPUS
        .into_iter()
        .map(|(name, expected)| (name, expected, label(&[name], None)))
        .filter(|(_, expected, found)| expected != found)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn cpus_have_short_names() {
    let wrong: Vec<_> = CPUS
        .into_iter()
        .map(|(name, expected)| (name, expected, label(&[], Some(name))))
        .filter(|(_, expected, found)| expected != found)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn equal_gpus_are_counted_and_different_ones_joined() {
    let (h100, l4) = ("NVIDIA H100 80GB HBM3", "NVIDIA L4");
    assert_eq!(label(&[h100; 8], Some("AMD EPYC 9654")), "H100x8");
    assert_eq!(label(&[h100, l4, h100], None), "H100x2_L4");
    let many: Vec<String> = (0..64).map(|number| format!("NVIDIA X{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert!(label(&many, None).len() <= LONGEST);
}

#[test]
fn a_gpu_that_says_only_its_vendor_leaves_the_label_to_the_cpu() {
    for nameless in ["AMD Radeon Graphics", "NVIDIA (4 GPUs)", "Apple GPU", ""] {
        assert_eq!(label(&[nameless], Some("Apple M4")), "M4");
    }
    assert_eq!(label(&["NVIDIA Graphics Device"], None), UNKNOWN);
    assert_eq!(label(&[], None), UNKNOWN);
}

#[test]
fn the_keys_are_those_of_the_original_in_its_order() {
    let text = serde_json::to_string(&SystemInfo::default()).unwrap();
    assert_eq!(
        text,
        r#"{"os_name":null,"os_version":null,"kernel_version":null,"host_name":null,"cpu_count":null,"cpu_brand":null}"#
    );
}

fn names() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), "[A-Za-z0-9 ()\\[\\]/@+_,.-]{0,80}"]
}

proptest! {
    #[test]
    fn every_name_gives_a_label_that_is_safe_as_a_file_name(
        gpus in proptest::collection::vec(names(), 0..4),
        cpu in proptest::option::of(names()),
    ) {
        let gpus: Vec<&str> = gpus.iter().map(String::as_str).collect();
        let label = label(&gpus, cpu.as_deref());
        prop_assert!(!label.is_empty() && label.len() <= LONGEST);
        prop_assert!(label.chars().all(is_safe), "{label}");
        prop_assert!(!label.starts_with('-'), "{label}");
    }
}

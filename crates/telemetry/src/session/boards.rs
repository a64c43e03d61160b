//! Combines the gauges of several boards into one state.

use ipw_core::energy::{GpuState, Spread};
use ipw_core::source::Gauge;

/// The gauges of all boards over a window.
#[derive(Default)]
pub(super) struct Boards {
    memory: Vec<Spread>,
    temperature: Vec<Spread>,
    compute: Vec<Spread>,
    memory_bus: Vec<Spread>,
    tensor: Vec<Spread>,
}

impl Boards {
    pub(super) fn take(&mut self, gauge: Gauge, spread: Option<Spread>) {
        let place = match gauge {
            Gauge::GpuMemoryUsed => &mut self.memory,
            Gauge::GpuTemperature => &mut self.temperature,
            Gauge::GpuUse => &mut self.compute,
            Gauge::GpuMemoryUse => &mut self.memory_bus,
            Gauge::GpuTensorUse => &mut self.tensor,
            _ => return,
        };
        place.extend(spread);
    }

    pub(super) fn state(self) -> GpuState {
        GpuState {
            memory: self.memory.into_iter().reduce(Spread::plus),
            temperature: Spread::over(&self.temperature),
            compute: Spread::over(&self.compute),
            memory_bus: Spread::over(&self.memory_bus),
            tensor: Spread::over(&self.tensor),
        }
    }
}

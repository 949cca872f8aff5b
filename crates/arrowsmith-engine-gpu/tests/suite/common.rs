// SPDX-License-Identifier: Apache-2.0
//! The device that the tests run on: the kernels on the CPU, or, with `ARROWSMITH_GPU_TESTS=cuda`,
//! a GPU.

use std::sync::Arc;

use arrowsmith_engine_gpu::device::Device;
use arrowsmith_engine_gpu::device::shim::ShimDevice;
use arrowsmith_testkit::scale;

/// The device; on the CPU its threads run in the order of this seed.
#[allow(dead_code, reason = "not every test takes any device")]
pub fn device(seed: u64) -> Arc<dyn Device> {
    #[cfg(feature = "cuda")]
    if std::env::var("ARROWSMITH_GPU_TESTS").is_ok_and(|wanted| wanted == "cuda") {
        use arrowsmith_engine_gpu::device::cuda::CudaDevice;
        use std::sync::OnceLock;
        static OPENED: OnceLock<Arc<CudaDevice>> = OnceLock::new();
        let opened = OPENED.get_or_init(|| Arc::new(CudaDevice::open(0).expect("a GPU")));
        return opened.clone();
    }
    Arc::new(ShimDevice::new(seed))
}

/// Seeds to try: `ARROWSMITH_SEEDS` has another number.
#[allow(dead_code, reason = "not every test has seeds")]
pub fn seeds(usual: u64) -> u64 {
    scale::number("ARROWSMITH_SEEDS", usual, usual * 10)
}

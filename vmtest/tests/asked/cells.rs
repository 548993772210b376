//! How a program asks, how many I/Os it has in flight, and on how many tags, under each scheduler: each is a cell.

use iosched_vmtest::SCHEDULERS;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    Psync,
    Libaio,
    /// 16 in a call, and as many answers at once.
    Batches,
    IoUring,
    /// With files and buffers that are registered.
    Registered,
    /// A thread of the kernel takes the entries.
    Sqpoll,
}

const ENGINES: [Engine; 6] = [
    Engine::Psync,
    Engine::Libaio,
    Engine::Batches,
    Engine::IoUring,
    Engine::Registered,
    Engine::Sqpoll,
];

impl Engine {
    fn name(self) -> &'static str {
        match self {
            Engine::Psync => "psync",
            Engine::Libaio => "libaio",
            Engine::Batches => "libaio, 16 a call",
            Engine::IoUring => "io_uring",
            Engine::Registered => "io_uring, registered",
            Engine::Sqpoll => "io_uring, SQPOLL",
        }
    }

    fn options(self) -> &'static str {
        match self {
            Engine::Psync => "--ioengine=psync",
            Engine::Libaio => "--ioengine=libaio",
            Engine::Batches => {
                "--ioengine=libaio --iodepth_batch_submit=16 --iodepth_batch_complete_min=16 \
                 --iodepth_batch_complete_max=16"
            }
            Engine::IoUring => "--ioengine=io_uring",
            Engine::Registered => "--ioengine=io_uring --registerfiles=1 --fixedbufs=1",
            // Linux 5.10 wants registered files for it.
            Engine::Sqpoll => "--ioengine=io_uring --registerfiles=1 --sqthread_poll=1",
        }
    }

    fn in_flight(self) -> &'static [u64] {
        match self {
            Engine::Psync => &[1, 16],
            Engine::Batches => &[32],
            _ => &[1, 16, 64],
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Cell {
    pub engine: Engine,
    pub in_flight: u64,
    pub tags: u32,
    pub scheduler: &'static str,
}

/// All; or those where requests run out, and of the others as many as it takes to have each engine and each number in flight
/// with each scheduler, and with each number of tags.
pub fn cells(tags: u32, all: bool) -> Vec<Cell> {
    let mut cells = Vec::new();
    for (page, engine) in ENGINES.into_iter().enumerate() {
        for (row, &in_flight) in engine.in_flight().iter().enumerate() {
            for (place, scheduler) in SCHEDULERS.into_iter().enumerate() {
                let cell = Cell {
                    engine,
                    in_flight,
                    tags,
                    scheduler,
                };
                let is_one_of_two = ((page + row + place) % 2 == 0) == (tags < 64);
                if all || is_one_of_two || cell.runs_out_of_requests() {
                    cells.push(cell);
                }
            }
        }
    }
    cells
}

/// So many times all that are in flight.
const TIMES: u64 = 8;
const FEWEST: u64 = 100;

impl Cell {
    pub fn reads(&self) -> u64 {
        // Divisible by what is in flight.
        let times = TIMES.max(FEWEST.div_ceil(self.in_flight));
        self.in_flight * times
    }

    /// So many in flight: in as many threads where the engine takes one at a time. No sector is read twice.
    pub fn job(&self) -> String {
        let (many, reads) = (self.in_flight, self.reads());
        let how = match self.engine {
            Engine::Psync => {
                let each = reads / many;
                format!(
                    "--numjobs={many} --group_reporting --number_ios={each} --size=4m --offset_increment=4m"
                )
            }
            _ => format!("--iodepth={many} --number_ios={reads} --size=64m"),
        };
        let options = self.engine.options();
        format!("{options} {how} --rw=randread --lat_percentiles=1")
    }

    /// Under a scheduler there are more than any has in flight here.
    pub fn runs_out_of_requests(&self) -> bool {
        self.scheduler == "none" && self.in_flight > u64::from(self.tags)
    }

    pub fn is_libaio(&self) -> bool {
        [Engine::Libaio, Engine::Batches].contains(&self.engine)
    }

    pub fn is_io_uring(&self) -> bool {
        !self.is_libaio() && self.engine != Engine::Psync
    }

    /// Its thread stands in a system call with I/O under way.
    pub fn stands_still(&self) -> bool {
        self.is_libaio() && self.runs_out_of_requests()
    }

    /// Why fio's latency is not A2C, where it is not.
    pub fn is_beyond_fio(&self) -> Option<&'static str> {
        match self.engine {
            Engine::Batches => Some("fio takes no answer before it has 16"),
            Engine::Libaio if self.runs_out_of_requests() => Some(
                "the thread stands in io_submit and collects nothing: what is completed lies there",
            ),
            Engine::Sqpoll => Some(
                "an entry lies in the ring until the polling thread has the CPU, and its answer until fio has it again",
            ),
            _ => None,
        }
    }
}

impl std::fmt::Display for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (engine, many, tags) = (self.engine.name(), self.in_flight, self.tags);
        write!(
            f,
            "{engine}, {many} in flight on {tags} tags, {}",
            self.scheduler
        )
    }
}

pub mod cgroup;

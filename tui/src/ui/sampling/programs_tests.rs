use iosched_result::measured::snapshot::OwnerKey;

use super::*;

struct Groups;

impl Selection for Groups {
    fn cgroup_path(&self, id: u64) -> Option<String> {
        (id > 0).then(|| format!("/group{id}"))
    }
}

fn chosen(cgroup: &str, comm: Option<&str>) -> Chosen {
    Chosen {
        name: PartName {
            cgroup: cgroup.to_owned(),
            comm: comm.map(str::to_owned),
        },
        program: Program {
            label: String::new(),
            reads: true,
            writes: false,
        },
    }
}

#[test]
fn each_has_a_name_of_its_own() {
    let mut all = [
        chosen("/demo/probe", Some("fio")),
        chosen("/system.slice/postgresql@15-main.service", Some("postgres")),
        chosen("/user.slice/session-3.scope", Some("dd")),
        chosen("/user.slice/session-4.scope", Some("dd")),
        chosen("", Some("tmux: server")),
        chosen(
            "/system.slice/postgresql@15-main.service",
            Some("walwriter"),
        ),
        chosen("/user.slice/session-4.scope", Some("dd")),
        chosen("/demo/hog", None),
        chosen("/system.slice/backup.service", Some("tar")),
        chosen("/", None),
    ];
    name_them(&mut all);
    let labels: Vec<&str> = all.iter().map(|it| &*it.program.label).collect();
    assert_eq!(
        labels,
        [
            "probe",
            "postgres",
            "dd",
            "dd-2",
            "tmux__server",
            "walwriter",
            "dd-3",
            "hog",
            "backup",
            "root",
        ]
    );
}

#[test]
fn without_a_choice_the_two_busiest_are_judged_and_one_alone_is_the_disks_load() {
    let all = || {
        vec![
            chosen("", Some("a")),
            chosen("", Some("b")),
            chosen("", Some("c")),
        ]
    };
    let names =
        |of: Vec<Chosen>| -> Vec<String> { of.into_iter().filter_map(|it| it.name.comm).collect() };
    assert_eq!(names(choose(all(), &[])), ["a", "b"]);
    assert_eq!(names(choose(all()[..1].to_vec(), &[])), [""; 0]);
    assert_eq!(names(choose(all(), &[all()[2].name.clone()])), ["c"]);
    let gone = [chosen("", Some("gone")).name];
    assert_eq!(names(choose(all(), &gone)), ["a", "b"]);
}

#[test]
fn its_processes_are_those_of_its_name_in_its_group() {
    let owner = |tgid: u32, comm: &str, cgroup_id: u64| {
        let key = OwnerKey {
            device: "sda".into(),
            kind: OwnerKind::Process,
            tgid,
            start_ms: 10,
            cgroup_id,
            file: None,
        };
        let mut owner = OwnerNumbers::new(key, comm);
        owner.ops[0].ios = 1;
        owner
    };
    let owners = [
        owner(1, "db", 1),
        owner(2, "db", 2),
        owner(3, "wal", 1),
        owner(4, "db", 1),
    ];
    let of = |chosen: Chosen| -> Vec<u32> {
        let found = participants(&[chosen], &owners, &Groups);
        found[0].processes.iter().map(|(tgid, _)| *tgid).collect()
    };
    assert_eq!(of(chosen("/group1", Some("db"))), [1, 4]);
    assert_eq!(of(chosen("/group1", None)), [1, 3, 4]);
    assert_eq!(of(chosen("/group3", None)), [0; 0]);
}

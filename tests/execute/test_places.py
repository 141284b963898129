"""Executors by name, processors, versions, addresses of clusters: what is asked before anything runs."""

from pathlib import Path

import pytest

from corpusmill import execute
from corpusmill.errors import AssetError, RecipeError
from corpusmill.execute import cpus, versions
from corpusmill.execute.on_demand import OnDemand
from corpusmill.execute.ray_cluster import checked_address
from corpusmill.execute.serial import Serial
from corpusmill.storage import disk_full


@pytest.mark.parametrize("name", execute.EXECUTORS)
def test_every_executor_has_a_class(name):
    assert execute.find(name).__name__ == name.title()


@pytest.mark.parametrize(
    ("name", "hint"), [("proceses", 'did you mean "processes"?'), ("slurm", "Use one of: processes")]
)
def test_an_unknown_executor_is_refused_with_the_nearest(name, hint):
    with pytest.raises(RecipeError) as error:
        execute.find(name)
    assert f'there is no executor "{name}"' in str(error.value) and hint in str(error.value)


def test_no_executor_is_found_by_the_name_of_a_module_that_is_none():
    with pytest.raises(RecipeError):
        execute.find("task")


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({"cpu.max": "max 100000"}, None),
        ({"cpu.max": "150000 100000\n"}, 1.5),
        ({"cpu.max": "0 100000"}, None),
        ({"cpu.max": "nonsense"}, None),
        ({"cpu.max": "100 0"}, None),
        ({"cpu/cpu.cfs_quota_us": "400000", "cpu/cpu.cfs_period_us": "100000"}, 4.0),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None),
        ({}, None),
    ],
)
def test_the_quota_of_a_container(tmp_path, files, quota):
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert cpus.cgroup_quota(tmp_path) == quota


def test_slurm_limits_the_processors(monkeypatch):
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", "1")
    monkeypatch.setenv("SLURM_CPUS_ON_NODE", "64")
    assert cpus.usable() == 1
    assert cpus.too_many(1) == ""
    assert cpus.too_many(3).startswith("3 workers were asked for, and this process may use 1 processor")


def test_differences_of_versions_are_named_both_ways():
    assert versions.differences({"numpy": "2.1", "pyarrow": "18"}, {"numpy": "2.1", "pyarrow": "18"}) == []
    assert versions.differences({"numpy": "2.1"}, {"duckdb": "1.0", "numpy": "2.0"}) == [
        "duckdb 1.0 (the driver has not installed)",
        "numpy 2.0 (the driver has 2.1)",
    ]


def test_the_versions_of_this_process_name_its_source():
    installed = versions.installed_versions()
    assert installed["corpusmill"].split(" (source ")[1] and {"python", "numpy", "pyarrow"} <= installed.keys()


def test_own_modules_are_those_of_neither_this_package_nor_a_library():
    from works import Square

    assert versions.own_modules(Square()) == ("works",)
    assert versions.own_modules(Path("x")) == ()
    digests = versions.of_modules(("works", "no_such_module"))
    assert digests["works"].startswith("source ") and digests["no_such_module"] == versions.NOT_INSTALLED


@pytest.mark.parametrize("address", ["local", "10.0.0.1:6379", "head:6379", "[::1]:6379"])
def test_addresses_that_name_one_cluster(address):
    assert checked_address(address) == address


@pytest.mark.parametrize(
    ("address", "message"),
    [
        (None, "executor: ray needs run.address"),
        ("", "executor: ray needs run.address"),
        ("auto", "joins any cluster that Ray finds on this machine"),
        ("ray://head:10001", "one of Ray Client, whose tasks end with the connection"),
        ("head", 'Write the head\'s address, "10.0.0.1:6379"'),
        ("head:", 'Write the head\'s address, "10.0.0.1:6379"'),
        ("http://head:1", 'Write the head\'s address, "10.0.0.1:6379"'),
    ],
)
def test_other_addresses_are_refused_with_what_to_write(address, message):
    with pytest.raises(RecipeError) as error:
        checked_address(address)
    assert message in str(error.value)


def test_an_executor_is_started_at_the_first_unit_and_its_checks_before_it(tmp_path):
    from test_executors import UNITS, task
    from works import Square

    begun: list[int] = []
    checked: list[int] = []

    def begin() -> Serial:
        begun.append(1)
        return Serial()

    executor = OnDemand(begin)
    executor.check([lambda: checked.append(1)])
    assert executor.run(task(tmp_path, Square()), [], lambda _: None, execute.ignored) == []
    assert not begun and not checked
    for units in (UNITS[:2], UNITS[2:3]):
        executor.run(task(tmp_path, Square()), units, lambda _: None, execute.ignored)
    assert begun == [1] and checked == [1]
    executor.close()


def test_a_check_that_fails_on_demand_starts_no_unit(tmp_path):
    from test_executors import UNITS, task
    from works import Square

    def fails():
        raise AssetError("no such model")

    executor = OnDemand(Serial, [fails])
    with pytest.raises(AssetError):
        executor.run(task(tmp_path, Square()), UNITS, lambda _: pytest.fail("ran"), execute.ignored)


def test_a_full_disk_says_how_much_room_there_is_and_what_to_do(tmp_path):
    message = str(disk_full(str(tmp_path), OSError(28, "No space left on device")))
    assert "the disk is full (" in message and " GB free of " in message and "run the same command again" in message
    message = str(disk_full(str(tmp_path), OSError(27, "File too large")))
    assert "ulimit -f" in message and "run.unit_mb" in message

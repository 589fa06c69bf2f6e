package docker

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// groupTree is a machine's files about one container, below proc and sys. Those of cgroup v1 with
// the driver cgroupfs were recorded; this project's machines have no cgroup v2, so its trees are
// written as the kernel's Documentation/admin-guide/cgroup-v2.rst describes the files.
type groupTree map[string]string

const (
	treeContainer = "db60ad7791980c750bae448767e628893fd59d9fb1bcca38ec4499d80c5bc49f"
	treeMemoryV1  = "cache 1048576\nrss 7340032\ninactive_file 4096\nactive_file 0\n" +
		"hierarchical_memory_limit 67108864\ntotal_cache 1048576\ntotal_inactive_file 524288\n"
	treeMemoryV2 = "anon 7340032\nfile 1048576\nkernel 512000\ninactive_anon 0\n" +
		"inactive_file 524288\nactive_file 524288\nworkingset_refault_file 3\n"
	treeBlkio = "254:0 Read 4096\n254:0 Write 8192\n254:0 Sync 12288\n254:0 Async 0\n" +
		"254:0 Discard 0\n254:0 Total 12288\n7:1 Read 1\nTotal 12288\n"
	treeNet = "Inter-|   Receive                                                |  Transmit\n" +
		" face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets\n" +
		"    lo:     500       5    0    0    0     0          0         0      500       5" +
		"    0    0    0     0       0          0\n" +
		"  eth0:    1000      10    0    0    0     0          0         0     2000      20" +
		"    0    0    0     0       0          0\n"
)

func v1Tree(folder, group string) groupTree {
	return groupTree{
		"proc/7/cgroup": "9:pids:" + group + "\n4:memory:" + group + "\n2:cpuacct:" + group +
			"\n0::/system.slice/containerd.service\n",
		"proc/7/net/dev": treeNet,
		"sys/cpuacct/" + folder + "/cpuacct.usage":                 "1500000000\n",
		"sys/memory/" + folder + "/memory.usage_in_bytes":          "8388608\n",
		"sys/memory/" + folder + "/memory.stat":                    treeMemoryV1,
		"sys/blkio/" + folder + "/blkio.throttle.io_service_bytes": treeBlkio,
		"sys/unified/system.slice/containerd.service/cgroup.procs": "",
	}
}

func v2Tree(folder, group string) groupTree {
	return groupTree{
		"proc/7/cgroup":          "0::" + group + "\n",
		"proc/7/net/dev":         treeNet,
		"sys/cgroup.controllers": "cpuset cpu io memory hugetlb pids rdma misc\n",
		"sys/" + folder + "/cpu.stat": "usage_usec 1500000\nuser_usec 1000000\n" +
			"system_usec 500000\nnr_periods 0\n",
		"sys/" + folder + "/memory.current": "8388608\n",
		"sys/" + folder + "/memory.stat":    treeMemoryV2,
		"sys/" + folder + "/io.stat": "7:1 rbytes=1 wbytes=0 rios=1 wios=0 dbytes=0 dios=0\n" +
			"254:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n",
	}
}

// writeTree makes the files and returns a reader of them.
func writeTree(t *testing.T, tree groupTree) cgroupReader {
	t.Helper()
	dir := t.TempDir()
	for path, text := range tree {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cgroupReader{proc: filepath.Join(dir, "proc"), sys: filepath.Join(dir, "sys")}
}

// The same figures are read in both versions of control groups and with both of the engine's
// drivers, and whoever makes the groups, runc or crun.
func TestCgroupReader_EveryVersionAndDriver(t *testing.T) {
	t.Parallel()
	scope := "system.slice/docker-" + treeContainer + ".scope"
	for name, tree := range map[string]groupTree{
		"v1 cgroupfs": v1Tree("docker/"+treeContainer, "/docker/"+treeContainer),
		"v1 systemd":  v1Tree(scope, "/"+scope),
		"v2 cgroupfs": v2Tree("docker/"+treeContainer, "/docker/"+treeContainer),
		"v2 systemd":  v2Tree(scope, "/"+scope),
		// crun can put the processes of a scope one group deeper.
		"v2 systemd, crun":                 v2Tree(scope, "/"+scope+"/container"),
		"v2, seen from a group of our own": v2Tree(scope, "/../docker-"+treeContainer+".scope"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, memory, err := writeTree(t, tree).readUsage(treeContainer, 7)
			if err != nil {
				t.Fatal(err)
			}
			c.at = time.Time{}
			want := counters{cpu: 1500 * time.Millisecond, netIn: 1000, netOut: 2000, read: 4097,
				written: 8192}
			if c != want || memory != 8388608-524288 {
				t.Errorf("read %+v and %d bytes of memory, want %+v", c, memory, want)
			}
		})
	}
}

// A controller that is not there, a group of another parent and a process of another container are
// no reason to report zeros: the engine is asked instead.
func TestCgroupReader_AsksTheEngineWhereItSeesNothing(t *testing.T) {
	t.Parallel()
	group := "docker/" + treeContainer
	without := func(tree groupTree, file string) groupTree {
		for path := range tree {
			if strings.HasSuffix(path, file) {
				delete(tree, path)
			}
		}
		return tree
	}
	for name, tree := range map[string]groupTree{
		"another parent":    v2Tree("ours/"+treeContainer, "/ours/"+treeContainer),
		"no memory":         without(v2Tree(group, "/"+group), "memory.current"),
		"no memory in v1":   without(v1Tree(group, "/"+group), "memory.usage_in_bytes"),
		"another container": v2Tree(group, "/docker/"+strings.Repeat("0", 64)),
		"no process":        without(v2Tree(group, "/"+group), "proc/7/cgroup"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := writeTree(t, tree).readUsage(treeContainer, 7)
			if !errors.Is(err, errHidden) {
				t.Errorf("error is %v", err)
			}
		})
	}
	// What a kernel may leave out: without io, CPU and memory still count.
	c, memory, err := writeTree(t, without(v2Tree(group, "/"+group), "io.stat")).
		readUsage(treeContainer, 7)
	if err != nil || c.read != 0 || c.cpu == 0 || memory == 0 {
		t.Errorf("without io: %+v, %d bytes, %v", c, memory, err)
	}
}

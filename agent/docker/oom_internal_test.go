package docker

import "testing"

// Only the kernel's own sentence about this very container counts: a program can
// have any name, and another container's end is not this one's.
func TestSaysKilled(t *testing.T) {
	const id = "db60ad7791980c750bae448767e628893fd59d9fb1bcca38ec4499d80c5bc49f"
	const head = "3,1234,1675232835,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset="
	for record, want := range map[string]bool{
		head + id + ",mems_allowed=0,oom_memcg=/docker/" + id + ",task_memcg=/docker/" + id +
			",task=actor,pid=25091,uid=0\n": true,
		head + "x,oom_memcg=/system.slice/docker-" + id + ".scope,task=actor,pid=7,uid=0\n":     true,
		head + id + ",oom_memcg=/docker/other,task_memcg=/docker/other,task=" + id + ",pid=7\n": false,
		// The whole machine ran out: the limit of the container did not kill it.
		head + "x,global_oom,task_memcg=/docker/" + id + ",task=actor,pid=7,uid=0\n":    false,
		"6,1,1,-;docker0: port 1(veth) entered blocking state oom_memcg=/docker/" + id:  false,
		"3,1235,1675232859,-;Memory cgroup out of memory: Killed process 25091 (actor)": false,
	} {
		if got := isOOMRecordOf(record, id); got != want {
			t.Errorf("%q: %v", record, got)
		}
	}
	if isInKernelOOMLog(t.TempDir()+"/none", id) {
		t.Error("a log that is not there says something")
	}
}

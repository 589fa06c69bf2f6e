package script

import (
	"os"
	"syscall"
)

// confinedAttributes make a process that ends with its parent, in namespaces of its own if
// they are asked for: it then sees no network, no other process and no mount of the machine's
// that appears later. Root needs no user namespace for that, and drops root later.
func confinedAttributes(namespaces bool) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if !namespaces {
		return a
	}
	a.Cloneflags = syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS |
		syscall.CLONE_NEWNS | syscall.CLONE_NEWPID
	if uid, gid := os.Geteuid(), os.Getegid(); uid != 0 {
		a.Cloneflags |= syscall.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: nobody, HostID: uid, Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: nobody, HostID: gid, Size: 1}}
	}
	return a
}

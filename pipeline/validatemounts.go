package pipeline

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Limits of Linux on paths, in bytes: NAME_MAX, and PATH_MAX less its NUL.
const (
	maxPathPart = 255
	maxPath     = 4095
)

// Limits of Linux on what a program is started with, in bytes. One argument or
// variable: MAX_ARG_STRLEN less its NUL. All together: a quarter of the usual
// stack of 8 MiB, less room for pointers, the image's own variables and ours.
const (
	maxExecString = 128<<10 - 1
	maxExecTotal  = 2<<20 - 128<<10
)

func (v *validator) checkMounts(s *ServiceStep) {
	names := map[string]bool{}
	all := map[string]string{}
	for i, m := range s.Volumes {
		field := fmt.Sprintf("%s.volumes[%d]", v.kind, i)
		if !isLabel(m.Name) {
			v.addProblem(field+".name", "name", "the volume's name %q must be a DNS label", m.Name)
		}
		if names[m.Name] {
			v.addProblem(field+".name", "duplicate", "two volumes have the name %q", m.Name)
		}
		names[m.Name] = true
		if m.Shared != "" && !isLabel(m.Shared) {
			v.addProblem(
				field+".shared",
				"name",
				"the shared volume's name %q must be a DNS label",
				m.Shared,
			)
		}
		v.mountPath(field+".path", m.Path, all)
	}
	for i, f := range s.Files {
		field := fmt.Sprintf("%s.files[%d]", v.kind, i)
		v.mountPath(field+".path", f.Path, all)
		if len(f.Content) > MaxFileContent {
			v.addProblem(field+".content", "too_long", "%d bytes; %d are the most",
				len(f.Content), MaxFileContent)
		}
		v.checkText(field+".content", f.Content)
	}
	for i, m := range s.Tmpfs {
		field := fmt.Sprintf("%s.tmpfs[%d]", v.kind, i)
		v.mountPath(field+".path", m.Path, all)
		if m.SizeMiB < 0 || m.SizeMiB > maxMemoryMiB {
			v.addProblem(field+".size_mib", "range", "%d MiB; give 1 to %d, or 0 for no limit of its own",
				m.SizeMiB, maxMemoryMiB)
		}
	}
	v.checkFilesHoldNothing(s, all)
}

// checkSharedVolumes wants one answer to whether a shared volume stays: it is one
// volume, and either goes to another node or does not.
func (v *validator) checkSharedVolumes() {
	first := map[string]StepKey{}
	stays := map[string]bool{}
	for _, s := range v.p.Steps {
		c := s.Container()
		if c == nil {
			continue
		}
		v.at, v.kind = s.Key, containerField(s)
		for i, m := range c.Volumes {
			switch {
			case m.Shared == "":
			case first[m.Shared] == "":
				first[m.Shared], stays[m.Shared] = s.Key, m.Stays
			case stays[m.Shared] != m.Stays:
				v.addProblem(
					fmt.Sprintf("%s.volumes[%d].stays", v.kind, i),
					"shared",
					"step %q says otherwise of "+
						"the shared volume %q; set stays for all steps with it or for none",
					first[m.Shared],
					m.Shared,
				)
			}
		}
	}
	v.at = ""
}

// mountPath checks the path of one volume, file or tmpfs and adds it to all, which maps paths to
// the fields that name them.
func (v *validator) mountPath(field, p string, all map[string]string) {
	v.checkPath(field, p)
	if all[p] != "" {
		v.addProblem(field, "duplicate", "two volumes, files or tmpfs have the path %q", p)
		return
	}
	all[p] = field
}

// checkFilesHoldNothing refuses a mount below a file: the engine would have to
// make a folder where the file is, and the container would never start.
func (v *validator) checkFilesHoldNothing(s *ServiceStep, all map[string]string) {
	for _, inner := range sortedKeys(all) {
		for _, f := range s.Files {
			if strings.HasPrefix(inner, f.Path+"/") {
				v.addProblem(all[inner], "path", "%q is inside %q, which is a file; choose a path "+
					"that is not below a file", inner, f.Path)
			}
		}
	}
}

// checkPath wants an absolute path without tricks, so that a mount lands where the
// text says, and outside of what the kernel and the agent put into containers.
func (v *validator) checkPath(field, p string) {
	switch reserved := reservedFolder(p); {
	case !strings.HasPrefix(p, "/") || path.Clean(p) != p || p == "/" || strings.Contains(p, "\x00"):
		v.addProblem(field, "path", "%q must be absolute, not / itself, and without . or .. or //", p)
	case strings.Contains(p, "${{"):
		v.addProblem(field, "path", "%q holds a reference, and references are not replaced in paths; "+
			"write the path itself", p)
	case strings.HasPrefix(reserved, "/etc/"):
		v.addProblem(field, "path", "the container engine writes %s, so that services find each other; "+
			"choose another path, and give names of other hosts as extra host names", reserved)
	case reserved != "":
		v.addProblem(field, "path", "%q is in %s, which every container gets from the system; "+
			"choose another folder", p, reserved)
	case len(p) > maxPath || slices.ContainsFunc(strings.Split(p, "/"), tooLongPart):
		v.addProblem(field, "too_long", "the path has %d bytes; %d are the most, and %d for each name "+
			"in it", len(p), maxPath, maxPathPart)
	}
}

func tooLongPart(part string) bool { return len(part) > maxPathPart }

// reservedFolder names the folder of the system that a path is in, or "". The
// runtime refuses mounts in /proc; over /sys or /dev the container loses its
// cgroups or devices, except that a larger /dev/shm is a usual wish. In
// /.nullops the agent mounts the init and the secrets of a service. The engine writes
// the files in /etc: without them no service finds another one.
func reservedFolder(p string) string {
	if p == "/dev/shm" {
		return ""
	}
	for _, folder := range []string{"/proc", "/sys", "/dev", "/.nullops", "/etc/resolv.conf",
		"/etc/hosts", "/etc/hostname"} {
		if p == folder || strings.HasPrefix(p, folder+"/") {
			return folder
		}
	}
	return ""
}

// checkStringSize refuses an argument or a variable that Linux would: the
// program would not start, and the engine's error would not name it.
func (v *validator) checkStringSize(field string, bytes int) {
	if bytes > maxExecString {
		v.addProblem(field, "too_long", "%d bytes; Linux passes %d at most to a program in one piece; "+
			"put the text into a file of the %s", bytes, maxExecString, v.kind)
	}
}

// checkExecSize does the same for all arguments and variables together.
func (v *validator) checkExecSize(s *ServiceStep) {
	if total := execSize(slices.Concat(s.Entrypoint, s.Command), s.Env); total > maxExecTotal {
		v.addProblem(v.kind+".env", "too_long", "the variables and the command have %d bytes together; "+
			"%d are the most; put large texts into files of the %s", total, maxExecTotal, v.kind)
	}
}

func execSize(args []string, env map[string]string) (total int) {
	for _, arg := range args {
		total += len(arg)
	}
	for name, value := range env {
		total += len(name) + len(value)
	}
	return total
}

// CheckExecSize holds arguments and variables whose references are replaced to the limits that
// saving holds their texts to: secrets and outputs may be longer than the references, and hold
// what no text of a pipeline may hold.
func CheckExecSize(args []string, env map[string]string) error {
	for i, arg := range args {
		if strings.Contains(arg, "\x00") {
			return fmt.Errorf("argument %d holds a NUL character, which no program can receive", i+1)
		}
		if len(arg) > maxExecString {
			return fmt.Errorf("argument %d has %d bytes; Linux passes %d at most to a program in one "+
				"piece; put the text into a file of the service", i+1, len(arg), maxExecString)
		}
	}
	for _, name := range sortedKeys(env) {
		if strings.Contains(env[name], "\x00") {
			return fmt.Errorf("env.%s holds a NUL character, which no program can receive", name)
		}
		if size := len(name) + len("=") + len(env[name]); size > maxExecString {
			return fmt.Errorf("env.%s has %d bytes; Linux passes %d at most to a program in one piece; "+
				"put the text into a file of the service", name, size, maxExecString)
		}
	}
	if total := execSize(args, env); total > maxExecTotal {
		return fmt.Errorf("the variables and the command have %d bytes together; %d are the most; "+
			"put large texts into files of the service", total, maxExecTotal)
	}
	return nil
}

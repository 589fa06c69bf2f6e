package docker

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	"pgregory.net/rapid"
)

// A free subnet is in the range, has the size, and overlaps nothing; none is
// found only if none is there.
func TestFreeSubnet(t *testing.T) {
	pool := netip.MustParsePrefix("10.213.0.0/20")
	rapid.Check(t, func(t *rapid.T) {
		var taken []netip.Prefix
		for range rapid.IntRange(0, 70).Draw(t, "taken") {
			a := netip.AddrFrom4([4]byte{10, 213, rapid.Byte().Draw(t, "third") & 0x0f,
				rapid.Byte().Draw(t, "fourth")})
			taken = append(taken, netip.PrefixFrom(a, rapid.IntRange(22, 28).Draw(t, "bits")).Masked())
		}
		got, ok := freeSubnet(pool, 26, taken)
		if ok && (!pool.Overlaps(got) || got.Bits() != 26 || overlapsAny(got, taken)) {
			t.Fatalf("got %s, taken %v", got, taken)
		}
		for third := range 16 {
			for _, fourth := range []byte{0, 64, 128, 192} {
				a := netip.AddrFrom4([4]byte{10, 213, byte(third), fourth})
				if !ok && !overlapsAny(netip.PrefixFrom(a, 26), taken) {
					t.Fatalf("%s is free, taken %v", a, taken)
				}
			}
		}
	})
}

// A route of the host is respected, the default route is not one.
func TestHostRoutes(t *testing.T) {
	table := "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n" +
		"eth0 00000000 010200C0 0003 0 0 0 00000000 0 0 0\n" +
		"eth0 000200C0 00000000 0001 0 0 0 00FFFFFF 0 0 0\n"
	got, err := hostRoutes(strings.NewReader(table))
	if err != nil || len(got) != 1 || got[0].String() != "192.0.2.0/24" {
		t.Errorf("routes %v, error %v", got, err)
	}
	if _, err := hostRoutes(strings.NewReader("\neth0 zz 0 0 0 0 0 00FFFFFF\n")); err == nil {
		t.Error("garbage was read as a route")
	}
}

// An agent in a container names its folders as the host does.
func TestHostOf(t *testing.T) {
	mounts := []container.MountPoint{
		{Destination: "/data", Source: "/var/lib/docker/volumes/agent/_data"},
		{Destination: "/data/deep", Source: "/mnt/deep"},
		{Destination: "/run/nullops", Source: "/run/nullops"},
	}
	for dir, want := range map[string]string{
		"/data":          "/var/lib/docker/volumes/agent/_data",
		"/data/agent":    "/var/lib/docker/volumes/agent/_data/agent",
		"/data/deep/er":  "/mnt/deep/er",
		"/run/nullops/1": "/run/nullops/1",
	} {
		if got, err := hostOf(dir, "data folder", mounts); err != nil || got != want {
			t.Errorf("%s is %s on the host, error %v", dir, got, err)
		}
	}
	_, err := hostOf("/database", "data folder", mounts)
	if err == nil || !strings.Contains(err.Error(), "-v /database:/database") {
		t.Errorf("error is %v", err)
	}
}

// The container we run in is found by the files that the engine mounts.
func TestOwnContainer(t *testing.T) {
	id := strings.Repeat("0123456789abcdef", 4)
	for text, want := range map[string]string{
		"285 266 254:0 /docker/containers/" + id + "/hostname /etc/hostname rw - ext4 x rw\n": id,
		"22 1 254:0 / / rw - ext4 /dev/vda rw\n":                                              "",
		"90 22 0:45 / /docker/containers/" + id + "/mounts/shm rw - tmpfs shm rw\n":           "",
		"91 22 254:0 /docker/containers/" + id + "/hosts /docker/overlay2/x/merged/etc/hosts " +
			"rw - ext4 /dev/vda rw\n": "",
	} {
		path := filepath.Join(t.TempDir(), "mountinfo")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := ownContainer(path); err != nil || got != want {
			t.Errorf("found %q, error %v", got, err)
		}
	}
}

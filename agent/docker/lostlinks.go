package docker

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"golang.org/x/sys/unix"
)

// bridgeOption is where the engine keeps the name of a bridge that it did not choose.
const bridgeOption = "com.docker.network.bridge.name"

// networkInterface is one network interface of the machine. peer is the other end of a pair.
type networkInterface struct {
	index, master int32
	peer          linkPeer
	name, kind    string
}

// linkPeer identifies an interface in any network namespace: numbers of interfaces are unique
// within one only, and engines since 28 make the first interface of each container number 2.
// namespace is the number that our namespace has for it; unnamed means our own, or that the kernel
// names none.
type linkPeer struct{ namespace, index int32 }

const unnamed = unix.NETNSA_NSID_NOT_ASSIGNED

// findLostLinks finds interfaces on the bridges of our networks whose other end is in no
// container that runs, and bridges whose network the engine does not know. An agent with a
// network of its own sees none.
func (lo *lostObjects) findLostLinks(ctx context.Context) (lost []LostLink, err error) {
	if lo.hostPaths().ownNetwork {
		return []LostLink{}, nil
	}
	all, err := lo.networks.listNetworks(ctx, lo.names.ownFilter(""))
	if err != nil {
		return nil, err
	}
	links, err := listInterfaces()
	if err != nil {
		return nil, err
	}
	if lost, err = lo.findLostBridges(ctx, links); err != nil {
		return nil, err
	}
	for _, n := range all {
		bridge := bridgeOf(n)
		on := slices.IndexFunc(links, func(l networkInterface) bool {
			return l.name == bridge && l.kind == linkBridge
		})
		if on < 0 {
			continue
		}
		peers, err := lo.peersOf(ctx, make(client.Filters).Add("network", n.ID))
		if errors.Is(err, ErrProcessesHidden) {
			continue // a container that ended meanwhile: nothing is known of this one
		}
		if err != nil {
			return nil, err
		}
		for _, l := range links {
			if l.master == links[on].index && l.kind == linkPair && !peers[l.peer] {
				lost = append(lost, LostLink{Name: l.name, Kind: l.kind, Bridge: bridge,
					Deployment: n.Labels[labelDeployment], index: l.index})
			}
		}
	}
	return append([]LostLink{}, lost...), nil
}

func bridgeOf(n network.Summary) string {
	if name := n.Options[bridgeOption]; name != "" {
		return name
	}
	return bridgeName(n.ID)
}

// bridgeName is what the engine calls the bridge of a network.
func bridgeName(network string) string { return "br-" + network[:min(len(network), 12)] }

// findLostBridges finds bridges of networks of ours that the engine does not know, and the
// interfaces on them.
func (lo *lostObjects) findLostBridges(
	ctx context.Context, links []networkInterface,
) (lost []LostLink, err error) {
	for _, bridge := range links {
		n, ours := lo.book.findBridge(bridge.name, lo.hostPaths().engineID)
		if bridge.kind != linkBridge || !ours {
			continue
		}
		_, err := lo.api.NetworkInspect(ctx, n.ID, client.NetworkInspectOptions{})
		if err == nil {
			continue
		}
		if !isNotFound(err) {
			return nil, fmt.Errorf("inspect network: %w", wrapUnavailable(err))
		}
		peers, err := lo.peersOf(ctx, nil)
		if errors.Is(err, ErrProcessesHidden) {
			continue
		}
		if err != nil {
			return nil, err
		}
		lost = append(lost, linksOf(bridge, links, peers, n.Deployment)...)
	}
	return lost, nil
}

// linksOf returns a lost bridge after the interfaces on it, and nothing if a container that the
// engine knows still uses it.
func linksOf(
	bridge networkInterface, links []networkInterface, peers map[linkPeer]bool, deployment string,
) (all []LostLink) {
	for _, l := range links {
		if l.master != bridge.index || l.kind != linkPair {
			continue
		}
		if peers[l.peer] {
			return nil
		}
		all = append(all, LostLink{Name: l.name, Kind: l.kind, Bridge: bridge.name,
			Deployment: deployment, index: l.index})
	}
	return append(all, LostLink{Name: bridge.name, Kind: bridge.kind, Bridge: bridge.name,
		Deployment: deployment, index: bridge.index})
}

// The kinds of interfaces that an engine leaves behind, in the kernel's words.
const (
	linkPair   = "veth"
	linkBridge = "bridge"
)

// peersOf returns the network interfaces of all running containers that pass a filter, including
// those of other installations. The machine's interfaces must have been listed before: that makes
// the kernel number the namespaces at their other ends.
func (lo *lostObjects) peersOf(ctx context.Context, f client.Filters) (map[linkPeer]bool, error) {
	r, err := lo.api.ContainerList(ctx, client.ContainerListOptions{Filters: f})
	if err != nil {
		return nil, fmt.Errorf("list a network's containers: %w", wrapUnavailable(err))
	}
	all := map[linkPeer]bool{}
	for _, c := range r.Items {
		i, err := lo.api.ContainerInspect(ctx, c.ID, client.ContainerInspectOptions{})
		if isNotFound(err) || err == nil && (i.Container.State == nil || i.Container.State.Pid == 0) {
			return nil, ErrProcessesHidden
		}
		if err != nil {
			return nil, fmt.Errorf("inspect container: %w", wrapUnavailable(err))
		}
		some, err := procReader{proc: "/proc"}.interfaceIndexes(i.Container.State.Pid)
		if err != nil {
			return nil, err
		}
		namespace := namespaceNumber(i.Container.State.Pid)
		for index := range some {
			all[linkPeer{namespace, index}] = true
		}
	}
	return all, nil
}

// listInterfaces lists the interfaces of our network namespace.
func listInterfaces() ([]networkInterface, error) {
	data, err := syscall.NetlinkRIB(syscall.RTM_GETLINK, syscall.AF_UNSPEC)
	if err != nil {
		return nil, fmt.Errorf("list network interfaces: %w", err)
	}
	messages, err := syscall.ParseNetlinkMessage(data)
	if err != nil {
		return nil, fmt.Errorf("list network interfaces: %w", err)
	}
	var all []networkInterface
	for _, m := range messages {
		if m.Header.Type != syscall.RTM_NEWLINK || len(m.Data) < syscall.SizeofIfInfomsg {
			continue
		}
		l := networkInterface{index: int32(binary.NativeEndian.Uint32(m.Data[4:8])),
			peer: linkPeer{namespace: unnamed}}
		attributes, err := syscall.ParseNetlinkRouteAttr(&m)
		if err != nil {
			return nil, fmt.Errorf("list network interfaces: %w", err)
		}
		for _, a := range attributes {
			l.readAttribute(a)
		}
		all = append(all, l)
	}
	return all, nil
}

// readAttribute reads one attribute of an interface.
func (l *networkInterface) readAttribute(a syscall.NetlinkRouteAttr) {
	number := func() int32 {
		if len(a.Value) < 4 {
			return 0
		}
		return int32(binary.NativeEndian.Uint32(a.Value))
	}
	switch a.Attr.Type {
	case unix.IFLA_IFNAME:
		l.name = strings.TrimRight(string(a.Value), "\x00")
	case unix.IFLA_MASTER:
		l.master = number()
	case unix.IFLA_LINK:
		l.peer.index = number()
	case unix.IFLA_LINK_NETNSID:
		l.peer.namespace = number()
	case unix.IFLA_LINKINFO:
		l.kind = kindOf(a.Value)
	}
}

// kindOf finds the kind among an interface's nested attributes.
func kindOf(nested []byte) string {
	const header = syscall.SizeofRtAttr
	for len(nested) >= header {
		size := int(binary.NativeEndian.Uint16(nested))
		if size < header || size > len(nested) {
			return ""
		}
		if binary.NativeEndian.Uint16(nested[2:]) == unix.IFLA_INFO_KIND {
			return strings.TrimRight(string(nested[header:size]), "\x00")
		}
		nested = nested[min((size+3)&^3, len(nested)):]
	}
	return ""
}

// deleteLink removes an interface, and with one of a pair its other end. It must
// still be the one that was seen.
func deleteLink(l LostLink) error {
	links, err := listInterfaces()
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(links, func(now networkInterface) bool {
		return now.index == l.index && now.name == l.Name && now.kind == l.Kind
	}) {
		return nil
	}
	socket, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("remove interface %s: %w", l.Name, err)
	}
	defer func() { _ = unix.Close(socket) }()
	message := make([]byte, unix.NLMSG_HDRLEN+unix.SizeofIfInfomsg)
	binary.NativeEndian.PutUint32(message, uint32(len(message)))
	binary.NativeEndian.PutUint16(message[4:], unix.RTM_DELLINK)
	binary.NativeEndian.PutUint16(message[6:], unix.NLM_F_REQUEST|unix.NLM_F_ACK)
	binary.NativeEndian.PutUint32(message[unix.NLMSG_HDRLEN+4:], uint32(l.index))
	err = unix.Sendto(socket, message, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
	if err == nil {
		err = readAcknowledgement(socket)
	}
	if err != nil && !errors.Is(err, unix.ENODEV) { // it was removed with its container
		return fmt.Errorf("remove interface %s: %w; run this as root", l.Name, err)
	}
	return nil
}

// namespaceNumber returns the number that our network namespace has for that of a process, and
// unnamed if it has none.
func namespaceNumber(pid int) int32 {
	socket, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return unnamed
	}
	defer func() { _ = unix.Close(socket) }()
	// The header, the family with its padding, and one attribute.
	const head = unix.NLMSG_HDRLEN + 4
	message := make([]byte, head+unix.SizeofRtAttr+4)
	binary.NativeEndian.PutUint32(message, uint32(len(message)))
	binary.NativeEndian.PutUint16(message[4:], unix.RTM_GETNSID)
	binary.NativeEndian.PutUint16(message[6:], unix.NLM_F_REQUEST)
	binary.NativeEndian.PutUint16(message[head:], unix.SizeofRtAttr+4)
	binary.NativeEndian.PutUint16(message[head+2:], unix.NETNSA_PID)
	binary.NativeEndian.PutUint32(message[head+unix.SizeofRtAttr:], uint32(pid))
	err = unix.Sendto(socket, message, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
	if err != nil {
		return unnamed
	}
	answer := make([]byte, unix.Getpagesize())
	n, _, err := unix.Recvfrom(socket, answer, 0)
	if err != nil || n < len(message) ||
		binary.NativeEndian.Uint16(answer[4:]) != unix.RTM_NEWNSID ||
		binary.NativeEndian.Uint16(answer[head+2:]) != unix.NETNSA_NSID {
		return unnamed
	}
	return int32(binary.NativeEndian.Uint32(answer[head+unix.SizeofRtAttr:]))
}

// readAcknowledgement reads the kernel's answer to one request.
func readAcknowledgement(socket int) error {
	answer := make([]byte, unix.Getpagesize())
	n, _, err := unix.Recvfrom(socket, answer, 0)
	if err != nil {
		return err
	}
	if n < unix.NLMSG_HDRLEN+4 ||
		binary.NativeEndian.Uint16(answer[4:]) != unix.NLMSG_ERROR {
		return errors.New("the kernel gave no answer")
	}
	code := int32(binary.NativeEndian.Uint32(answer[unix.NLMSG_HDRLEN:]))
	if code != 0 {
		return unix.Errno(-code)
	}
	return nil
}

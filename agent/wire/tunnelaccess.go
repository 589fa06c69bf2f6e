package wire

import (
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/x509"
)

// TunnelAccess names the one other client that may connect to the agent, besides its control
// plane: the ingress. It may open tunnels and nothing else. The agent stores the last one it
// was sent. An empty one withdraws the access.
type TunnelAccess struct {
	// Client is the SPKI of the ingress's certificate.
	Client []byte `json:"client,omitempty"`
	// Key is what the ingress proves instead of the token's key. It is good for this node only.
	Key []byte `json:"key,omitempty"`
}

// NewTunnelAccess lets the ingress open tunnels to the node of a token. A nil ingress
// withdraws its access.
func NewTunnelAccess(ingress *Identity, kid string) TunnelAccess {
	if ingress == nil {
		return TunnelAccess{}
	}
	client := ingress.SPKI()
	return TunnelAccess{Client: client[:], Key: ingress.TunnelKey(kid).Bytes()}
}

// TunnelKey derives the key that proves to one node that this identity may open tunnels. It
// comes from the identity's private key alone, so that its holder needs no other secret. The
// token's key does not follow from it, nor does the key for another node.
func (i *Identity) TunnelKey(kid string) Key {
	der, err := x509.MarshalPKCS8PrivateKey(i.key)
	if err != nil {
		// Only a key type that newIdentity cannot have let in.
		panic("encode private key: " + err.Error())
	}
	defer clear(der)
	raw, err := hkdf.Key(sha256.New, der, nil, "nullops tunnel auth v1 "+kid, keyLen)
	if err != nil {
		// Only an absurd length can fail, and ours is a constant.
		panic("derive tunnel key: " + err.Error())
	}
	return Key{bytes: [keyLen]byte(raw), set: true}
}

// IsEmpty reports whether there is no such client.
func (a TunnelAccess) IsEmpty() bool { return len(a.Client) == 0 }

// IsValid reports whether an agent can use it: it is empty or complete.
func (a TunnelAccess) IsValid() bool {
	if a.IsEmpty() {
		return len(a.Key) == 0
	}
	return len(a.Client) == len(SPKI{}) && len(a.Key) == keyLen
}

// String hides the key.
func (a TunnelAccess) String() string { return "[secret]" }

// GoString hides the key.
func (a TunnelAccess) GoString() string { return "[secret]" }

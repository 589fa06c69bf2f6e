package controlplane

// Registry is where images come from.
type Registry struct {
	ID   RegistryID
	Name string
	// Host is host or host:port, as an image reference spells it.
	Host string
	// Insecure means plain HTTP, which is refused beyond loopback.
	Insecure bool
	// CA is a PEM bundle of authorities that are trusted for this registry beside
	// the system's; empty is none.
	CA       string
	Username string
	// Password is sealed; empty means that the registry is read anonymously.
	Password    Sealed
	Description string
	// Builtin ones are there on a fresh install.
	Builtin bool
}

// Credentials sign in to a registry. The zero value is anonymous.
type Credentials struct {
	Username string
	Password Plain
}

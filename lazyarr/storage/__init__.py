"""Memory with a location: storages, the one copy function, the transfer guard."""

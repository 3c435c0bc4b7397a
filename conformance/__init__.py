"""The official array-api-tests, run against lazyarr: ``python -m conformance --device sim``."""

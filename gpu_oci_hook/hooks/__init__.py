"""The stages of the OCI hook; gpu_oci_hook/hook.py is where they begin."""

"""Stands in for the package recorder-viz where that is not installed: its two names, read by cg.

    import recorder_viz
    from recorder_viz import RecorderReader

    reader = RecorderReader("path/to/trace")
    recorder_viz.generate_report(reader, "output.html")
"""
from codegreen.recorder import (GlobalMetadata, LocalMetadata, PyRecord, Record, RecorderMetadata, RecorderReader,
                                generate_report)

__all__ = ["RecorderReader", "generate_report", "RecorderMetadata", "GlobalMetadata", "LocalMetadata", "Record",
           "PyRecord"]

#!/usr/bin/env nextflow
// SPDX-License-Identifier: Apache-2.0
// Deconvolves an image in shares of blocks, then makes the smaller levels:
//   nextflow run process.nf --source /data/image.zarr --target /data/restored.zarr --psf /data/psf.tif

params.shares = 64
params.options = '--op deconvolve --iterations 30 --background 100 --block 256,512,512'

process share {
    maxRetries 2
    errorStrategy 'retry'

    input:
    val number

    output:
    val number

    script:
    """
    convolume process '${params.source}' '${params.target}' --psf '${params.psf}' ${params.options} --block-range ${number}/${params.shares}
    """
}

process levels {
    input:
    val numbers

    script:
    """
    convolume process '${params.source}' '${params.target}' --psf '${params.psf}' ${params.options} --resume
    """
}

workflow {
    levels(share(Channel.of(0..<params.shares)).collect())
}

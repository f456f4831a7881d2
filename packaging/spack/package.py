# SPDX-License-Identifier: Apache-2.0
"""Recipe of Spack. As the first release has no address yet, a clone is built in place:

    spack repo create PLACE convolume && mkdir -p PLACE/packages/convolume
    cp packaging/spack/package.py PLACE/packages/convolume/ && spack repo add PLACE
    spack dev-build --source-path . convolume@0.1.0
"""

from spack.package import conflicts, depends_on, license, variant, version
from spack_repo.builtin.build_systems.cmake import CMakePackage
from spack_repo.builtin.build_systems.cuda import CudaPackage


class Convolume(CMakePackage, CudaPackage):
    """Convolution and deconvolution of 3D images larger than a GPU, and filter banks over very long signals."""

    license("Apache-2.0")

    version("0.1.0")

    variant("shared", default=True, description="Build shared libraries")
    variant("tiff", default=True, description="TIFF files, with JPEG 2000 in them")
    variant("hdf5", default=True, description="HDF5 files")
    variant("sndfile", default=True, description="WAV files")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("cli11", type="build")
    depends_on("nlohmann-json", type="build")
    depends_on("random123", type="build")
    depends_on("fftw@3 precision=float,double")
    depends_on("highway")
    depends_on("libpng")
    depends_on("libtiff@4.5:", when="+tiff")
    depends_on("openjpeg", when="+tiff")
    depends_on("hdf5", when="+hdf5")
    depends_on("libdeflate", when="+hdf5")
    depends_on("pugixml", when="+tiff")
    depends_on("pugixml", when="+hdf5")
    depends_on("libsndfile", when="+sndfile")
    depends_on("cuda@12:", when="+cuda")

    conflicts("%gcc@:11", msg="convolume needs C++20 of GCC 12 or later")
    conflicts("cuda_arch=none", when="+cuda", msg="name the compute capabilities: cuda_arch=80,90")

    def cmake_args(self):
        """Returns the options of CMake. The pictures' font is no package of Spack, so that pictures are left out."""
        spec = self.spec
        arguments = [
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define_from_variant("CONVOLUME_WITH_CUDA", "cuda"),
            self.define_from_variant("CONVOLUME_WITH_HDF5", "hdf5"),
            self.define_from_variant("CONVOLUME_WITH_OPENJPEG", "tiff"),
            self.define_from_variant("CONVOLUME_WITH_SNDFILE", "sndfile"),
            self.define_from_variant("CONVOLUME_WITH_TIFF", "tiff"),
            self.define("CONVOLUME_WITH_CAIRO", False),
        ]
        if spec.satisfies("+cuda"):
            arguments.append(self.define("CMAKE_CUDA_ARCHITECTURES", spec.variants["cuda_arch"].value))
        return arguments

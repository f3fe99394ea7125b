include(default)

[settings]
compiler.cppstd=20

[platform_requires]
boost/1.74.0
catch2/2.13.10

// SPDX-License-Identifier: Apache-2.0
import java.io.BufferedOutputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import loci.common.DebugTools;
import loci.common.services.ServiceFactory;
import loci.formats.FormatTools;
import loci.formats.IFormatReader;
import loci.formats.IFormatWriter;
import loci.formats.ImageReader;
import loci.formats.MetadataTools;
import loci.formats.meta.IMetadata;
import loci.formats.out.OMETiffWriter;
import loci.formats.out.TiffWriter;
import loci.formats.services.OMEXMLService;
import ome.units.UNITS;
import ome.units.quantity.Length;
import ome.units.quantity.Time;

/** Writes and reads files with Bio-Formats, many in one run. Samples are exchanged as raw little-endian files. */
class BioFormatsFiles {
    public static void main(String[] arguments) throws Exception {
        DebugTools.setRootLevel("OFF");
        if (arguments[0].equals("version")) {
            System.out.println(FormatTools.VERSION);
            return;
        }
        for (String line : Files.readAllLines(Path.of(arguments[1]))) {
            String[] fields = line.split("\t", -1);
            try {
                if (arguments[0].equals("write")) {
                    write(fields);
                } else {
                    read(fields[0], fields[1]);
                }
            } catch (Exception | Error error) {
                System.out.println(fields[0] + "\terror\t" + error.toString().replaceAll("\\s+", " "));
            }
        }
    }

    private static IMetadata metadata() throws Exception {
        return new ServiceFactory().getInstance(OMEXMLService.class).createOMEXMLMetadata();
    }

    /** Writes: output, raw file, type, width, height, channels, planes, times, order, compression, options, names. */
    private static void write(String[] fields) throws Exception {
        byte[] samples = Files.readAllBytes(Path.of(fields[1]));
        int[] sizes = new int[5];
        for (int i = 0; i < 5; ++i) sizes[i] = Integer.parseInt(fields[3 + i]);
        List<String> options = List.of(fields[10].split(","));
        boolean rgb = options.contains("rgb");
        IMetadata metadata = metadata();
        MetadataTools.populateMetadata(metadata, 0, "specimen", true, fields[8], fields[2], sizes[0], sizes[1],
            sizes[3], sizes[2], sizes[4], rgb ? 3 : 1);
        if (options.contains("voxel")) {
            metadata.setPixelsPhysicalSizeX(new Length(0.1, UNITS.MICROMETER), 0);
            metadata.setPixelsPhysicalSizeY(new Length(104, UNITS.NANOMETER), 0);
            if (sizes[3] > 1) metadata.setPixelsPhysicalSizeZ(new Length(0.0003, UNITS.MILLIMETER), 0);
            if (sizes[4] > 1) metadata.setPixelsTimeIncrement(new Time(2500, UNITS.MILLISECOND), 0);
        }
        String[] names = fields[11].isEmpty() ? new String[0] : fields[11].split(",");
        for (int c = 0; c < names.length; ++c) metadata.setChannelName(names[c], 0, c);
        OMETiffWriter omeWriter = fields[0].contains(".ome.") ? new OMETiffWriter() : null;
        TiffWriter writer = omeWriter != null ? omeWriter : new TiffWriter();
        writer.setMetadataRetrieve(metadata);
        writer.setInterleaved(rgb);
        writer.setBigTiff(options.contains("big"));
        if (options.contains("tiles")) {
            writer.setTileSizeX(16);
            writer.setTileSizeY(16);
        }
        if (!fields[9].isEmpty()) writer.setCompression(fields[9]);
        writer.setId(fields[0]);
        int planes = (rgb ? 1 : sizes[2]) * sizes[3] * sizes[4];
        int bytes = samples.length / planes;
        for (int i = 0; i < planes; ++i) {
            byte[] plane = new byte[bytes];
            System.arraycopy(samples, i * bytes, plane, 0, bytes);
            writer.saveBytes(i, plane);
        }
        writer.close();
    }

    /** Prints file, type, width, height, channels, planes, times, order, images, voxel x, y, z in µm, names. */
    private static void read(String file, String raw) throws Exception {
        try (IFormatReader reader = new ImageReader()) {
            IMetadata metadata = metadata();
            reader.setMetadataStore(metadata);
            reader.setId(file);
            try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(Path.of(raw)))) {
                for (int i = 0; i < reader.getImageCount(); ++i) out.write(reader.openBytes(i));
            }
            StringBuilder names = new StringBuilder();
            for (int c = 0; c < metadata.getChannelCount(0); ++c) {
                String name = metadata.getChannelName(0, c);
                names.append(c > 0 ? "|" : "").append(name == null ? "" : name);
            }
            System.out.println(String.join("\t", file, "read", FormatTools.getPixelTypeString(reader.getPixelType()),
                "" + reader.getSizeX(), "" + reader.getSizeY(), "" + reader.getSizeC(), "" + reader.getSizeZ(),
                "" + reader.getSizeT(), reader.getDimensionOrder(), "" + reader.getSeriesCount(),
                micrometers(metadata.getPixelsPhysicalSizeX(0)), micrometers(metadata.getPixelsPhysicalSizeY(0)),
                micrometers(metadata.getPixelsPhysicalSizeZ(0)), reader.isLittleEndian() ? "<" : ">",
                reader.getFormat(), names.toString()));
        }
    }

    private static String micrometers(Length length) {
        Number value = length == null ? null : length.value(UNITS.MICROMETER);
        return value == null ? "" : value.toString();
    }
}
